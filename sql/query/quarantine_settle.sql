-- quarantine_settle.sql: $1 id, $2 'stored', 'duplicate' or 'refused', $3 what happened, for people, $4 the event (null: none),
-- $5 whether the event has all that is kept here, so that it need not be kept twice. In the transaction of quarantine_take.sql.
update inboxd.quarantine_store q
   set outcome = $2::text, result = $3::text, event = $4::bigint, settled_at = clock_timestamp(),
       head = case when $5::boolean then null else q.head end,
       salt = case when $5::boolean then null else q.salt end,
       concealed = case when $5::boolean then null else q.concealed end,
       body = case when $5::boolean then null else q.body end,
       bytes = case when $5::boolean then least(q.bytes, 200 + length(q.headers::text)) else q.bytes end
 where q.id = $1::bigint
