-- lane_newest.sql: $1 provider, $2 keys, $3 event types (null: none), $4 ids that are about to run, $5 token of their lanes' claim.
-- Of coalesce, before a lane that is leased runs: n (1 for the first element) and id of the newest event that waits in the lane
-- and has the type. What stepped aside before it, and is not about to run itself, is done as superseded, provided that the lane
-- is still ours. Indexes: work_lane, work_aside.
with newest as materialized (
    select u.n::int as n, u.key, u.type, greatest(f.id, a.id) as id
      from unnest($2::text[], $3::text[]) with ordinality as u (key, type, n)
      left join lateral (
           select w.id from inboxd.work w
            where w.provider = $1::text and w.lane = u.key and w.lane is not null and w.aside is null
              and w.event_type is not distinct from u.type
            order by w.id desc limit 1) f on true
      left join lateral (
           select max(w.id) as id from inboxd.work w
            where w.provider = $1::text and w.lane = u.key and w.aside is not null
              and w.event_type is not distinct from u.type) a on true
), older as materialized (
    select distinct w.id, n.id as by
      from newest n
      join inboxd.lane l on l.key = n.key and l.provider || '' = $1::text and l.token = $5::bigint and l.taken_id <> 0
     cross join lateral (
           select o.id from inboxd.work o
            where o.provider = $1::text and o.lane = n.key and o.aside is not null
              and o.event_type is not distinct from n.type and o.id < n.id and o.id <> all ($4::bigint[])
           offset 0) w
), gone as (
    delete from inboxd.work w where w.id = any (array(select id from older))
    returning w.id, w.attempt
), ended as (
    insert into inboxd.outcome (id, provider, status, attempt, last_error)
    select g.id, $1::text, 2, g.attempt, 'superseded by ' || o.by from gone g join older o on o.id = g.id
), logged as (
    insert into inboxd.attempt_log (id, attempt, kind, error)
    select g.id, g.attempt, 'superseded', 'superseded by ' || o.by from gone g join older o on o.id = g.id
), counted as (
    insert into inboxd.counters (provider, minute, done)
    select $1::text, date_trunc('minute', statement_timestamp()), count(*) from gone having count(*) > 0
)
select n, id from newest order by newest.n
