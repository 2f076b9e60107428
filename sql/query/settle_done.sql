-- settle_done.sql: $1 provider, $2 ids, $3 attempt number of each (the first run is 1). The events of a batch that
-- succeeded, in the transaction that claimed them.
with counted as (
    insert into inboxd.counters (provider, minute, done)
    values ($1::text, date_trunc('minute', statement_timestamp()), cardinality($2::bigint[]))
)
insert into inboxd.outcome (id, provider, status, attempt)
select u.id, $1::text, 2, u.attempt
  from unnest($2::bigint[], $3::int[]) as u (id, attempt)
