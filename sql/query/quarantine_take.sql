-- quarantine_take.sql: $1 providers, $2 a row to pass over (0: none). The next request that an operator wants released, locked to the end of the transaction; what
-- another daemon has locked is passed over. No row: there is none. Index: quarantine_marked.
select q.id, q.provider, q.received_at, host(q.source_ip) as source_ip, q.head, q.salt, q.concealed, q.body,
       q.unverified
  from inboxd.quarantine_store q
 where q.released_at is not null and q.outcome is null and q.provider = any ($1::text[]) and q.id <> $2::bigint
 order by q.released_at, q.id
 limit 1
   for update skip locked
