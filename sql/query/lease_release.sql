-- lease_release.sql: $1 ids, $2 their tokens, $3 whether they run alone from now on, $4 whether an attempt that was committed
-- before the start is given back. What was claimed has not run, or nothing of it counts: anybody may have it now. Returns the
-- ids that were still ours. Index: work_pkey.
update inboxd.work w
   set token = 0, run_at = now(), suspect = w.suspect or $3::boolean,
       attempt = w.attempt - case when $4::boolean then 1 else 0 end,
       last_error = case when $4::boolean then 'attempt ' || w.attempt || ' was interrupted by a shutdown and does not count'
                         else w.last_error end
  from unnest($1::bigint[], $2::bigint[]) as u (id, token)
 where w.id = u.id and w.token = u.token and w.id = any ($1::bigint[])
returning w.id
