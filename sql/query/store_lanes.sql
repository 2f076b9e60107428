-- store_lanes.sql: $1 providers, $2 ordering keys; sorted by bytes, without repeats. First statement of a
-- transaction that stores events with an order: its row locks, held to the commit, make the ids of a key grow in the
-- order of their commits. A lane that waits for its next retry has something to do now; one that is taken, or blocked,
-- goes on when it is released. Returns the earliest ready_at of those that are not taken, for the claim cursor. Key:
-- lane_pkey.
with lanes as (
    insert into inboxd.lane as l (provider, key)
    select u.provider, u.key
      from unnest($1::text[], $2::text[]) as u (provider, key)
        on conflict (provider, key) do update
       set ready_at = case when l.taken_id <> 0 or l.blocked then l.ready_at else least(l.ready_at, excluded.ready_at) end
    returning taken_id, ready_at
)
select min(ready_at) as ready_at from lanes where taken_id = 0
