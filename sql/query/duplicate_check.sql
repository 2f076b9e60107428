-- duplicate_check.sql: $1 providers, $2 event ids, $3 SHA-256 of the bodies: the duplicates of a batch. Returns
-- n (1 for the first element), differs (true: the first delivery had other bytes) dead (the id of the event where it is dead,
-- so that its redelivery runs nothing) and id of those that the ledger has. Counts the differing ones; notes the redeliveries of dead
-- events, each event at most once a minute. Indexes: ledger_pkey, outcome_pkey, attempt_log_id.
with seen as materialized (
    select u.n, u.provider, l.id, l.body_sha256 <> u.body_sha256 as differs,
           (select o.attempt from inboxd.outcome o where o.id = l.id and o.status = 3) as dead_attempt
      from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as u (provider, event_id, body_sha256, n)
      join inboxd.ledger l on l.provider = u.provider and l.event_id = u.event_id
), counted as (
    insert into inboxd.counters (provider, minute, differing)
    select provider, date_trunc('minute', now()), count(*) from seen where differs group by provider
), noted as (
    insert into inboxd.attempt_log (id, attempt, kind, error)
    select distinct s.id, s.dead_attempt, 'redelivered',
           'sent again while dead, which runs nothing: select inboxd.replay(' || s.id || ') does'
      from seen s
     where s.dead_attempt is not null
       and not exists (select from inboxd.attempt_log a
                        where a.id = s.id and a.kind = 'redelivered' and a.at > now() - interval '1 minute')
)
select n::int, differs, case when dead_attempt is not null then id end as dead, id from seen
