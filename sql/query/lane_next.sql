-- lane_next.sql: $1 provider, $2 keys, $3 id of the last event of each that is settled, all before it included (0: none). Last
-- statement but COMMIT of the transaction that holds their locks (lane_settle.sql): releases the lanes, and removes those that
-- have nothing left. A lane is ready when its first event is, or one that stepped aside; one with more to do now goes
-- behind the lanes that wait. It is blocked where the first event waits.
-- Returns the earliest ready_at (null: all are gone) and whether that is now. Indexes: lane_pkey, work_lane, work_aside.
with next as materialized (
    select u.key, greatest(l.after_id, u.last) as after_id, f.run_at as first_at, a.run_at as aside_at
      from unnest($2::text[], $3::bigint[]) as u (key, last)
     cross join lateral (select k.after_id from inboxd.lane k where k.key = u.key and k.provider || '' = $1::text offset 0) l
      left join lateral (
           select w.run_at from inboxd.work w
            where w.provider = $1::text and w.lane = u.key and w.lane is not null and w.aside is null
              and w.id + 0 > greatest(l.after_id, u.last)
            order by w.id + 0 limit 1) f on true
      left join lateral (
           select w.run_at from inboxd.work w
            where w.provider = $1::text and w.lane = u.key and w.aside is not null
            order by w.run_at, w.id limit 1) a on true
), gone as (
    delete from inboxd.lane l
     where l.key = any (array(select n.key from next n where n.first_at is null and n.aside_at is null))
       and l.provider || '' = $1::text
), released as (
    update inboxd.lane l
       set ready_at = greatest(least(n.first_at, n.aside_at), statement_timestamp()),
           after_id = n.after_id, taken_id = 0, taken_alone = false,
           blocked = coalesce(n.first_at > statement_timestamp(), false)
      from next n
     where l.key = any ($2::text[]) and l.key || '' = n.key and l.provider || '' = $1::text
       and (n.first_at is not null or n.aside_at is not null)
    returning l.ready_at
)
select min(ready_at) as ready_at, coalesce(min(ready_at) <= statement_timestamp(), false) as due from released
