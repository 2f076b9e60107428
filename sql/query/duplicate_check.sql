-- duplicate_check.sql: $1 providers, $2 event ids, $3 SHA-256 of the bodies: the duplicates of a batch. Returns
-- n (1 for the first element) and differs (true: the first delivery had other bytes) of those that the ledger has, and
-- counts the differing ones. Index: ledger_pkey.
with seen as materialized (
    select u.n, u.provider, l.body_sha256 <> u.body_sha256 as differs
      from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as u (provider, event_id, body_sha256, n)
      join inboxd.ledger l on l.provider = u.provider and l.event_id = u.event_id
), counted as (
    insert into inboxd.counters (provider, minute, differing)
    select provider, date_trunc('minute', now()), count(*) from seen where differs group by provider
)
select n::int, differs from seen
