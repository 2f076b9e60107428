-- lease_renew.sql: $1 ids, $2 their tokens, $3 seconds for each. Whoever runs them lives: their leases last so long from now
-- on. A row that is locked is being settled, or its handler's transaction holds it: nobody can claim it meanwhile, and nothing
-- waits here. Returns the ids that were renewed. Index: work_pkey.
with held as materialized (
    select m.id, u.seconds
      from unnest($1::bigint[], $2::bigint[], $3::float8[]) as u (id, token, seconds)
      join inboxd.work m on m.id = u.id and m.token = u.token
     order by m.id
       for update of m skip locked
)
update inboxd.work w
   set run_at = now() + greatest(0, least(held.seconds, 315360000)) * interval '1 second'
  from held
 where w.id = held.id and w.id = any ($1::bigint[])
returning w.id
