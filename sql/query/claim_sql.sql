-- claim_sql.sql: $1 provider, $2 cursor run_at (-infinity: sweep), $3 cursor id, $4 at most.
-- Claims due events of class sql without a lane by deleting their rows: the handler's transaction commits, or the rows are
-- back. Oldest first; skips what others hold; nothing while the provider is paused. The array is built once, so that no
-- plan ever takes more than $4.
-- ORDER BY equals index work_due, or the claim sorts the whole backlog (tests/sql/test_plans.py holds this).
-- run_at of the last row, with its id, is the next cursor. now: the database's clock, for the age of a deferral.
with claimed as (
    delete from inboxd.work w
     where w.id = any (array(
           select d.id
             from inboxd.work d
            where d.provider = $1::text and d.class = 'sql' and d.lane is null and not d.suspect
              and d.run_at <= now()
              and (d.run_at, d.id) > ($2::timestamptz, $3::bigint)
              and not exists (select from inboxd.paused p where p.provider = $1::text)
            order by d.run_at, d.id
            limit $4::int
              for update skip locked))
    returning w.id, w.attempt, w.attempt_base, w.event_type, w.run_at, w.received_at, w.deferred_since
)
select id, attempt, attempt_base, event_type, run_at, received_at, deferred_since, now() as now
  from claimed
 order by run_at, id
