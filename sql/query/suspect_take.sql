-- suspect_take.sql: $1 id, $2 token of suspect_claim.sql. First statement of the handler's transaction: the claim is
-- this DELETE. No row: another worker has taken the event over, and there is nothing to do. Index: work_pkey.
delete from inboxd.work w
 where w.id = $1::bigint and w.token = $2::bigint
returning w.id
