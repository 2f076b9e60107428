-- claim_sql.sql: $1 provider, $2 cursor run_at (microseconds since 1970; 0: sweep), $3 cursor id, $4 at most.
-- Claims due events of class sql without a lane by deleting their rows: the handler's transaction commits, or the rows are
-- back. Oldest first; skips what others hold. The array is built once, so that no plan ever takes more than $4.
-- ORDER BY equals index work_due, or the claim sorts the whole backlog (tests/sql/test_plans.py holds this).
-- run_at_us of the last row, with its id, is the next cursor.
with claimed as (
    delete from inboxd.work w
     where w.id = any (array(
           select d.id
             from inboxd.work d
            where d.provider = $1::text and d.class = 'sql' and d.lane is null and not d.suspect
              and d.run_at <= now()
              and (d.run_at, d.id) > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::bigint)
            order by d.run_at, d.id
            limit $4::int
              for update skip locked))
    returning w.id, w.attempt, w.attempt_base, w.event_type, w.run_at, w.received_at, w.deferred_since
)
select id, attempt, attempt_base, event_type,
       (date_part('epoch', run_at) * 1000000)::bigint as run_at_us,
       (date_part('epoch', received_at) * 1000000)::bigint as received_at_us,
       (date_part('epoch', deferred_since) * 1000000)::bigint as deferred_since_us
  from claimed
 order by run_at, id
