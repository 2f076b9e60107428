-- store_batch.sql: stores a batch of events: ledger, event_store, work and counters in one statement. An array
-- element an event, sorted by (provider, event_id) in bytes and without repeats, so that two batches never deadlock:
--   $1 provider, $2 event_id, $3 event_type (may be null), $4 ordering_key (may be null), $5 headers (JSON object),
--   $6 body, $7 repaired JSON text (null: the body itself), $8 payload_repaired, $9 payload usable (false: payload
--   stays null), $10 signature_verified, $11 source address (may be null), $12 class, $13 SHA-256 of the body,
--   $14 lane (null: no order).
-- Returns a row an event: n (1 for the first), id (null: a duplicate), run_at (the same for all: lower the claim cursor to
-- it). Key: ledger_pkey.
-- The ids are drawn first, in the order of the arrays, so that what follows joins on a bigint and not on two texts;
-- a duplicate burns its id, as the column's default would. The body is read from the arrays only where it is stored.
with input as materialized (
    select u.n, nextval('inboxd.event_id_seq') as id, u.provider, u.event_id, u.event_type, u.class, u.lane,
           u.body_sha256
      from unnest($1::text[], $2::text[], $3::text[], $12::text[], $13::bytea[], $14::text[])
           with ordinality as u (provider, event_id, event_type, class, body_sha256, lane, n)
), ledger as (
    insert into inboxd.ledger (provider, event_id, id, body_sha256)
    select provider, event_id, id, body_sha256 from input
        on conflict (provider, event_id) do nothing
    returning id
), stored as materialized (
    select i.* from input i join ledger l on l.id = i.id
), event as (
    insert into inboxd.event_store (id, provider, event_id, event_type, ordering_key, received_at, headers, payload,
                                    payload_repaired, body, signature_verified, source_ip)
    select s.id, u.provider, u.event_id, u.event_type, u.ordering_key, now(), u.headers::jsonb,
           case when u.usable then coalesce(u.repaired, convert_from(u.body, 'UTF8'))::jsonb end,
           u.is_repaired, u.body, u.verified, u.source_ip::inet
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::boolean[],
                  $9::boolean[], $10::boolean[], $11::text[])
           with ordinality as u (provider, event_id, event_type, ordering_key, headers, body, repaired, is_repaired,
                                 usable, verified, source_ip, n)
      join stored s on s.n = u.n
), work as (
    insert into inboxd.work (id, provider, class, lane, event_type, received_at)
    select id, provider, class, lane, event_type, now() from stored
), counted as (
    insert into inboxd.counters (provider, minute, stored, duplicate)
    select i.provider, date_trunc('minute', now()), count(s.id), count(*) - count(s.id)
      from input i left join stored s on s.id = i.id
     group by i.provider
)
select i.n::int as n, s.id, now() as run_at
  from input i left join stored s on s.id = i.id
