-- store_lanes.sql: $1 providers, $2 ordering keys; sorted by bytes, without repeats. First statement of a
-- transaction that stores events with an order: its row locks, held to the commit, make the ids of a key grow in the
-- order of their commits. Key: lane_pkey.
insert into inboxd.lane as l (provider, key)
select u.provider, u.key
  from unnest($1::text[], $2::text[]) as u (provider, key)
    on conflict (provider, key) do update set token = l.token
