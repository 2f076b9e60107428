-- suspect_return.sql: $1 id, $2 token of suspect_claim.sql or lane_take.sql. The run was interrupted by a shutdown, of the
-- daemon or of the server, or did not begin in time: the attempt is given back. No row: another worker has taken the event over. Index: work_pkey.
update inboxd.work w
   set attempt = w.attempt - 1, run_at = now(), token = 0,
       last_error = 'attempt ' || w.attempt || ' was interrupted by a shutdown, or did not begin in time, and does not count'
 where w.id = $1::bigint and w.token = $2::bigint
returning w.id
