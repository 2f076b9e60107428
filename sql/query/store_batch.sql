-- store_batch.sql: stores a batch of events: ledger, event_store, work and counters in one statement. An array
-- element an event, sorted by (provider, event_id) in bytes and without repeats, so that two batches never deadlock:
--   $1 provider, $2 event_id, $3 event_type (may be null), $4 ordering_key (may be null), $5 headers (JSON object),
--   $6 body, $7 repaired JSON text (null: the body itself), $8 payload_repaired, $9 payload usable (false: payload
--   stays null), $10 signature_verified, $11 source address (may be null), $12 class, $13 SHA-256 of the body,
--   $14 lane (null: no order), $15 place of its id in $16 (1 to the number of elements), $16 ids
--   in ascending order (null: they are drawn here), $17 when they were received, all of them (null: now),
--   $18 when they happened, as their sender says (may be null), $19 whether the body stays null.
-- Returns a row an event: n (1 for the first), id (null: a duplicate), run_at (the same for all: lower the claim cursor
-- to it), same (of a duplicate: it has the bytes of the first delivery; null: not known yet). Key: ledger_pkey.
-- The ids are drawn first, and given in the order received, so that what follows joins on a bigint and not on two texts;
-- a duplicate burns its id, as the column's default would. What is wide is not unnested but read from its array by the
-- element's number, where it is stored: unnest and the joins would copy each body three times (10 to 20 % of the cost).
with input as materialized (
    select u.n, u.provider, u.event_id, u.event_type, u.class, u.lane, u.body_sha256,
           (coalesce($16::bigint[], array(select nextval('inboxd.event_id_seq')
                                            from generate_series(1, cardinality($1::text[])))))[u.place] as id
      from unnest($1::text[], $2::text[], $3::text[], $12::text[], $13::bytea[], $14::text[], $15::bigint[])
           with ordinality as u (provider, event_id, event_type, class, body_sha256, lane, place, n)
), ledger as (
    insert into inboxd.ledger (provider, event_id, id, received_at, body_sha256)
    select provider, event_id, id, coalesce($17::timestamptz, now()), body_sha256 from input
        on conflict (provider, event_id) do nothing
    returning id
), answer as materialized (
    select i.n, l.id, i.provider, i.event_id, i.event_type, i.class, i.lane
      from input i left join ledger l on l.id = i.id
), event as (
    insert into inboxd.event_store (id, provider, event_id, event_type, ordering_key, received_at, headers, payload,
                                    payload_repaired, body, signature_verified, source_ip, event_time)
    select s.id, s.provider, s.event_id, s.event_type, ($4::text[])[s.n], coalesce($17::timestamptz, now()),
           (($5::text[])[s.n])::jsonb,
           case when ($9::boolean[])[s.n]
                then coalesce(($7::text[])[s.n], convert_from(($6::bytea[])[s.n], 'UTF8'))::jsonb end,
           ($8::boolean[])[s.n], case when not ($19::boolean[])[s.n] then ($6::bytea[])[s.n] end, ($10::boolean[])[s.n], (($11::text[])[s.n])::inet,
           ($18::timestamptz[])[s.n]
      from answer s where s.id is not null
), work as (
    insert into inboxd.work (id, provider, class, lane, event_type, received_at)
    select id, provider, class, lane, event_type, coalesce($17::timestamptz, now()) from answer where id is not null
), counted as (
    insert into inboxd.counters (provider, minute, stored, duplicate)
    select provider, date_trunc('minute', now()), count(id), count(*) - count(id) from answer group by provider
)
select a.n::int as n, a.id, now() as run_at,
       case when a.id is null
            then (select l.body_sha256 = ($13::bytea[])[a.n] from inboxd.ledger l
                   where l.provider = a.provider and l.event_id = a.event_id) end as same
  from answer a
