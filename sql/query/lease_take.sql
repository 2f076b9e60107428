-- lease_take.sql: $1 ids, $2 their tokens. First statement of the transaction that settles leased events: the fence is
-- this DELETE. Returns the ids that are still ours; of the others nothing may be written. Index: work_pkey.
delete from inboxd.work w
 using unnest($1::bigint[], $2::bigint[]) as u (id, token)
 where w.id = u.id and w.token = u.token and w.id = any ($1::bigint[])
returning w.id
