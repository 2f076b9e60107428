-- settle_failed.sql: the events of a batch that did not succeed, in the transaction that claimed (deleted) them.
-- $1 provider, $2 worker (text for people), then an array element an event:
--   $3 id, $4 what: 'retry', 'timeout' (a retry, logged as such), 'defer', 'again' (ran into a shutdown, deadlock or
--   serialization failure: no attempt, no log), 'dead', 'stale' or 'superseded' (done,
--   and its handler did not run), $5 attempt to store (tries so far, this one included if it
--   counts), $6 attempt_base, $7 delay in seconds, $8 error, $9 suspect (run it alone from now on), $10 event type,
--   $11 received_at, $12 deferred_since (null: not yet; 'defer' then starts it), $13 seconds it took (null:
--   unknown), $14 what else the server said (null: nothing): for the log of attempts only, since it differs from
--   event to event and errors are counted by their text, $15 class, $16 lane and $17 aside of the row that is put back
--   (null: none).
-- Returns the earliest new run_at (null: none is tried again), for the claim cursor.
with failed as materialized (
    select u.*,
           statement_timestamp() + greatest(0, least(u.delay, 315360000)) * interval '1 second' as run_at,
           case when u.was_deferred is null and u.what = 'defer' then statement_timestamp()
                else u.was_deferred end as deferred_since
      from unnest($3::bigint[], $4::text[], $5::int[], $6::int[], $7::float8[], $8::text[], $9::boolean[], $10::text[],
                  $11::timestamptz[], $12::timestamptz[], $13::float8[], $14::text[],
                  $15::text[], $16::text[], $17::text[])
           as u (id, what, attempt, attempt_base, delay, error, suspect, event_type, received_at, was_deferred, took, more,
                 class, lane, aside)
), waiting as (
    insert into inboxd.work (id, provider, class, run_at, attempt, attempt_base, suspect, event_type, received_at,
                             deferred_since, last_error, lane, aside)
    select id, $1::text, class, run_at, attempt, attempt_base, suspect, event_type, received_at, deferred_since, error, lane,
           aside
      from failed where what not in ('dead', 'stale', 'superseded')
    returning run_at
), ended as (
    insert into inboxd.outcome (id, provider, status, attempt, last_error)
    select id, $1::text, case what when 'dead' then 3 else 2 end, attempt, error
      from failed where what in ('dead', 'stale', 'superseded')
), logged as (
    insert into inboxd.attempt_log (id, attempt, kind, error, took, worker)
    select id, attempt, what, concat_ws(E'\n', error, more), took * interval '1 second', $2::text
      from failed where what <> 'again'
), counted as (
    insert into inboxd.counters (provider, minute, done, failed)
    select $1::text, date_trunc('minute', statement_timestamp()), count(*) filter (where what in ('stale', 'superseded')),
           count(*) filter (where what in ('retry', 'timeout', 'dead'))
      from failed where what in ('retry', 'timeout', 'dead', 'stale', 'superseded') having count(*) > 0
)
select min(run_at) as run_at from waiting
