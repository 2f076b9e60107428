-- lane_renew.sql: $1 provider, $2 keys, $3 token of their claim, $4 seconds. Whoever runs them lives: the
-- leases last so long from now on. Returns the keys that are still ours. What is locked is being settled, and needs no
-- lease any more. Index: lane_pkey.
with held as materialized (
    select l.key from inboxd.lane l
     where l.provider || '' = $1::text and l.key = any ($2::text[]) and l.token = $3::bigint and l.taken_id <> 0
     order by l.key
       for update skip locked
)
update inboxd.lane l set ready_at = now() + $4::float8 * interval '1 second'
 where l.key = any (array(select h.key from held h)) and l.provider || '' = $1::text
returning l.key
