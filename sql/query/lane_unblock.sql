-- lane_unblock.sql: $1 providers whose order is not strict (any more), $2 keys at most. The first event of a blocked key, for whose
-- next attempt the others wait, steps aside, as it would have under their order, and the others go on now. Blocked keys are not
-- under a lease. Returns how many keys there were. Indexes: lane_blocked, lane_pkey, work_lane, work_pkey.
with those as materialized (
    select l.provider, l.key, l.after_id
      from inboxd.lane l
     where l.blocked and l.provider = any ($1::text[])
     order by l.provider, l.key
     limit $2::int
       for update skip locked
), aside as (
    update inboxd.work w set aside = 'retry'
     where w.id = any (array(
           select f.id
             from those t
            cross join lateral (
                  select o.id, o.run_at from inboxd.work o
                   where o.provider = t.provider and o.lane = t.key and o.lane is not null and o.aside is null
                     and o.id + 0 > t.after_id
                   order by o.id + 0 limit 1) f
            where f.run_at > now()))
), freed as (
    update inboxd.lane l set blocked = false, ready_at = least(l.ready_at, now())
      from those t
     where l.key = any (array(select o.key from those o)) and l.key || '' = t.key and l.provider || '' = t.provider
    returning 1
)
select count(*) as changed from freed
