-- lease_hold.sql: $1 id, $2 token. First statement of the transaction that a handler gets: the row is locked, so that nobody
-- gets past it until the transaction ends, however long it takes. No row: the lease is lost. Index: work_pkey.
select w.id from inboxd.work w where w.id = $1::bigint and w.token = $2::bigint for update
