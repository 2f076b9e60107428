-- lane_newest.sql: $1 provider, $2 keys, $3 event types (null: none), $4 ids that are about to run, $5 token of their lanes' claim,
-- $6 rows at most that are looked at, of each key, for older ones.
-- Of coalesce, before a lane that is leased runs: n (1 for the first element) and id of the newest event that waits in the lane
-- and has the type. The older ones that nobody has claimed, waiting or stepped aside, are done as superseded here, all at once:
-- what runs outside of the transaction is claimed one by one, and would end each of them with a claim of its own. The lanes are
-- locked for that, if they are still ours. What was claimed with these ids is left to whoever has claimed it.
-- Indexes: lane_pkey, work_lane, work_aside.
with asked as materialized (
    select u.n::int as n, u.key, u.type from unnest($2::text[], $3::text[]) with ordinality as u (key, type, n)
), held as materialized (
    select l.key, case when l.taken_alone then 0 else l.taken_id end as claimed_to
      from inboxd.lane l
     where l.provider || '' = $1::text and l.key = any ($2::text[]) and l.token = $5::bigint and l.taken_id <> 0
     order by l.key
       for update
), newest as materialized (
    select k.key, k.type, greatest(f.id, a.id) as id
      from (select distinct key, type from asked) k
      left join lateral (
           select w.id from inboxd.work w
            where w.provider = $1::text and w.lane = k.key and w.lane is not null and w.aside is null
              and w.event_type is not distinct from k.type
            order by w.id + 0 desc limit 1) f on true
      left join lateral (
           select max(w.id) as id from inboxd.work w
            where w.provider = $1::text and w.lane = k.key and w.aside is not null
              and w.event_type is not distinct from k.type) a on true
), older as materialized (
    select w.id, n.id as by
      from held h
     cross join lateral (
           (select o.id, o.event_type from inboxd.work o
             where o.provider = $1::text and o.lane = h.key and o.aside is not null
             order by o.run_at, o.id limit $6::int)
           union all
           (select o.id, o.event_type from inboxd.work o
             where o.provider = $1::text and o.lane = h.key and o.lane is not null and o.aside is null
               and o.id + 0 > h.claimed_to
             order by o.id + 0 limit $6::int)) w
      join newest n on n.key = h.key and n.type is not distinct from w.event_type and n.id > w.id
     where w.id <> all ($4::bigint[])
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
select a.n, n.id from asked a join newest n on n.key = a.key and n.type is not distinct from a.type order by a.n
