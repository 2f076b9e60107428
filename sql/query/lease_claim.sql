-- lease_claim.sql: $1 provider, $2 cursor run_at (-infinity: sweep), $3 cursor id, $4 at most, $5 seconds of the lease.
-- Claims due events of class leased without a lane, oldest first, by a lease that is committed: run_at is its end, the token
-- fences every later statement. Skips what others hold; nothing while the provider is paused. A row whose token is set is a
-- lease that ran out unsettled: it is not handed out (`lapsed`) but logged as lost and runs alone from now on, since it may have killed its worker. A batch is no
-- attempt: those count when they are settled.
-- ORDER BY equals index work_due, or the claim sorts the whole backlog. due_at of the last row, with its id, is the next
-- cursor. now: the database's clock, for the age of a deferral.
with due as materialized (
    select d.id, d.run_at, d.token <> 0 as lapsed
      from inboxd.work d
     where d.provider = $1::text and d.class = 'leased' and d.lane is null and not d.suspect
       and d.run_at <= now()
       and (d.run_at, d.id) > ($2::timestamptz, $3::bigint)
       and not exists (select from inboxd.paused p where p.provider = $1::text)
     order by d.run_at, d.id
     limit $4::int
       for update skip locked
), fence as materialized (
    select nextval('inboxd.token_seq') as token
), claimed as (
    update inboxd.work w
       set token = case when due.lapsed then 0 else fence.token end,
           suspect = due.lapsed,
           run_at = case when due.lapsed then w.run_at
                         else now() + greatest(0, least($5::float8, 315360000)) * interval '1 second' end,
           last_error = case when due.lapsed then 'did not finish: its worker died, froze or lost the database'
                             else w.last_error end
      from due, fence
     where w.id = due.id and w.id = any (array(select id from due))
    returning w.id, w.token, w.attempt, w.attempt_base, w.event_type, due.run_at as due_at, w.received_at, w.deferred_since,
              due.lapsed
), logged as (
    insert into inboxd.attempt_log (id, attempt, kind, error)
    select id, attempt, 'lost', 'did not finish: its worker died, froze or lost the database; it runs alone from now on'
      from claimed where lapsed
)
select id, token, attempt, attempt_base, event_type, due_at, received_at, deferred_since, lapsed, now() as now
  from claimed
 order by due_at, id
