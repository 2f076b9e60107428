-- suspect_claim.sql: $1 provider, $2 attempts allowed, $3 seconds until it is due again unless it is settled,
-- $4 worker, $5 class. Committed before the handler starts (suspect_take.sql then begins its transaction): the attempt counts even
-- if it kills the process. Takes one due suspect event of the class: attempt + 1 and a new token; or, when its
-- attempts are used up, makes it dead (then `dead` is true and there is nothing to run). No row: nothing is due,
-- or the provider is paused.
-- An attempt that was started here and never settled is logged as lost. Index: work_suspect.
with due as materialized (
    select d.id, d.attempt, d.attempt_base, d.token, d.last_error, d.attempt - d.attempt_base >= $2::int as used_up
      from inboxd.work d
     where d.provider = $1::text and d.class = $5::text and d.lane is null and d.suspect and d.run_at <= now()
       and not exists (select from inboxd.paused p where p.provider = $1::text)
     order by d.run_at, d.id
     limit 1
       for update skip locked
), started as (
    update inboxd.work w
       set attempt = w.attempt + 1,
           run_at = now() + greatest(0, least($3::float8, 315360000)) * interval '1 second',
           last_error = 'attempt ' || w.attempt + 1 || ' did not finish: its worker died, froze or lost the database',
           token = nextval('inboxd.token_seq')
     where w.id = any (array(select id from due where not used_up))
    returning w.id, w.token, w.attempt, w.attempt_base, w.event_type, w.received_at, w.deferred_since
), ended as (
    delete from inboxd.work w
     where w.id = any (array(select id from due where used_up))
    returning w.id, w.token, w.attempt, w.attempt_base, w.event_type, w.received_at, w.deferred_since, w.last_error
), dead as (
    insert into inboxd.outcome (id, provider, status, attempt, last_error)
    select id, $1::text, 3, attempt, last_error from ended
), logged as (
    insert into inboxd.attempt_log (id, attempt, kind, error, worker)
    select id, attempt, 'lost', last_error, null from due where token <> 0
    union all
    select id, attempt, 'dead', last_error, $4::text from ended
), counted as (
    insert into inboxd.counters (provider, minute, failed)
    select $1::text, date_trunc('minute', now()), count(*) from due where token <> 0 having count(*) > 0
)
select id, token, attempt, attempt_base, event_type, received_at, deferred_since, dead, now() as now
  from (select id, token, attempt, attempt_base, event_type, received_at, deferred_since, false as dead from started
        union all
        select id, token, attempt, attempt_base, event_type, received_at, deferred_since, true from ended) t
