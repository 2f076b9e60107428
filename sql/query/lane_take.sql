-- lane_take.sql: $1 provider, $2 seconds of the lease (as in lane_claim.sql, whose transaction this ends), $3 events that are
-- to run at once, $4 attempts allowed, $5 seconds until an event that runs alone is due again unless it is settled, $6
-- whether a failed event steps aside (order = serial), $7 worker, $8 suspect events at most, $9 events at most in all
-- ($3 or more).
-- Chooses what to run of the lanes that were just leased. Of each lane EITHER one event alone: a due one that stepped
-- aside, else its first one if that is suspect or not of class sql; OR its first ones, as many as can run together
-- ($9 over all lanes, in turn, so that a lane that has many is not leased again for each few; more would be read in vain).
-- The attempt of a suspect event counts from here on: attempt + 1, a token; under `serial` it steps aside already, so that
-- the others go on if it kills the process again. Where its attempts are used up it is dead, and the lane has nothing.
-- Lanes with more suspects than $8, those due longest first, are left for a little later: what has begun here counts, so that
-- nothing begins that has to wait. Suspects come first, and the daemon never asks for more than one.
-- A lane whose lease had run out unsettled has nothing either: what may have been running in it becomes suspect, and the
-- lane is free again at once.
-- Returns a row an event, lane by lane (those of suspects first) in the order of ids (alone: it runs alone; counted: its attempt is committed; dead:
-- it is), and one with id null for a lane with nothing. aside: as it was. Indexes: lane_ready, work_aside, work_lane.
with mine as materialized (
    select k.*, count(*) over () as lanes
      from (select l.key, l.after_id, l.taken_id, l.taken_alone, l.token
              from inboxd.lane l
             where l.provider = $1::text and l.ready_at = now() + $2::float8 * interval '1 second'
               and l.token = currval('inboxd.token_seq')
             order by l.ready_at, l.number
             limit $3::int) k
), stepped as materialized (
    select m.key, a.*
      from mine m
     cross join lateral (
           select w.id, w.attempt, w.attempt_base, w.event_type, w.run_at, w.received_at, w.deferred_since, w.class, w.suspect,
                  w.aside, w.token, w.last_error
             from inboxd.work w
            where w.provider = $1::text and w.lane = m.key and w.aside is not null and w.run_at <= now()
            order by w.run_at, w.id limit 1) a
     where m.taken_id = -1
), first as materialized (
    select m.key, r.*
      from mine m
     cross join lateral (
           select f.*, row_number() over (order by f.id) as place, not f.together as alone,
                  bool_and(f.together and f.run_at <= now()) over (order by f.id) as joins
             from (select w.id, w.attempt, w.attempt_base, w.event_type, w.run_at, w.received_at, w.deferred_since, w.class,
                          w.suspect, w.aside, w.token, w.last_error, not w.suspect and w.class = 'sql' as together
                     from inboxd.work w
                    where w.provider = $1::text and w.lane = m.key and w.lane is not null and w.aside is null
                      and w.id + 0 > m.after_id
                    order by w.id + 0
                    limit greatest(1, least($9::bigint, $3::bigint * $3::bigint / m.lanes))) f) r
     where m.taken_id = -1 and not exists (select from stepped s where s.key = m.key)
), wanted as materialized (
    select key, id, attempt, attempt_base, event_type, run_at, received_at, deferred_since, class, suspect, aside, token,
           last_error, true as alone, 1 as place
      from stepped
     union all
    select key, id, attempt, attempt_base, event_type, run_at, received_at, deferred_since, class, suspect, aside, token,
           last_error, alone, place
      from first
     where joins or place = 1 and alone and run_at <= now()
), chosen as materialized (
    select c.*
      from (select w.*, count(*) filter (where w.suspect) over (order by w.run_at, w.id) as suspects,
                   row_number() over (order by w.place, w.id) as turn
              from wanted w) c
     where c.turn <= $9::int and (not c.suspect or c.suspects <= $8::int)
), started as (
    update inboxd.work w
       set attempt = w.attempt + 1,
           run_at = now() + greatest(0, least($5::float8, 315360000)) * interval '1 second',
           last_error = 'attempt ' || w.attempt + 1 || ' did not finish: its worker died, froze or lost the database',
           token = (select m.token from mine m limit 1),
           aside = case when $6::boolean then coalesce(w.aside, 'retry') else w.aside end
     where w.id = any (array(select c.id from chosen c where c.suspect and c.attempt - c.attempt_base < $4::int))
), ended as (
    delete from inboxd.work w
     where w.id = any (array(select c.id from chosen c where c.suspect and c.attempt - c.attempt_base >= $4::int))
    returning w.id, w.attempt, w.last_error
), dead as (
    insert into inboxd.outcome (id, provider, status, attempt, last_error)
    select id, $1::text, 3, attempt, last_error from ended
), logged as (
    insert into inboxd.attempt_log (id, attempt, kind, error, worker)
    select id, attempt, 'lost', last_error, null from chosen where suspect and token <> 0
    union all
    select id, attempt, 'dead', last_error, $7::text from ended
), counted as (
    insert into inboxd.counters (provider, minute, failed)
    select $1::text, date_trunc('minute', now()), count(*) from chosen where suspect and token <> 0 having count(*) > 0
), marked as (
    update inboxd.work w set suspect = true
     where w.id = any (array(
           select r.id
             from mine m
            cross join lateral (
                  select o.id from inboxd.work o
                   where not m.taken_alone and o.provider = $1::text and o.lane = m.key and o.lane is not null
                     and o.aside is null and o.id + 0 > m.after_id and o.id + 0 <= m.taken_id
                   order by o.id + 0 limit 50) r
            where m.taken_id > 0
            union all
           select m.taken_id from mine m where m.taken_id > 0 and m.taken_alone))
), taken as (
    update inboxd.lane l
       set taken_id = case when m.taken_id > 0 or c.later then 0 else coalesce(c.last, -1) end,
           taken_alone = m.taken_id = -1 and coalesce(c.alone, false),
           ready_at = case when m.taken_id > 0 then now() when c.later then now() + interval '0.2 s' else l.ready_at end
      from mine m
      left join (select w.key, max(c.id) as last, bool_or(c.alone) as alone, count(c.id) = 0 as later
                   from wanted w left join chosen c on c.id = w.id group by w.key) c on c.key = m.key
     where l.key = any (array(select o.key from mine o)) and l.key || '' = m.key and l.provider || '' = $1::text
)
select m.key, m.token, c.id, c.attempt, c.attempt_base, c.event_type, c.run_at, c.received_at, c.deferred_since, c.class,
       c.aside, coalesce(c.alone, false) as alone, coalesce(c.suspect, false) as counted,
       coalesce(c.suspect and c.attempt - c.attempt_base >= $4::int, false) as dead, now() as now
  from mine m
  left join chosen c on c.key = m.key
 where m.taken_id = -1 and (c.id is not null or not exists (select from wanted w where w.key = m.key))
 order by coalesce(c.suspect, false) desc, m.key, c.id
