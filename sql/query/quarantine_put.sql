-- quarantine_put.sql: keeps refused requests, an array element each: $1 provider, $2 seconds since it came, $3 reason,
-- $4 source address (may be null), $5 method, $6 target made safe, $7 headers (JSON object), $8 exact head (null: none),
-- $9 salt and $10 hashes of its credentials (null: none), $11 body, $12 SHA-256 of the body, $13 what it counts for,
-- $14 the event that it is a different duplicate of (null: none). In one transaction with trim_quarantine() for each of the
-- providers.
with kept as (
    insert into inboxd.quarantine_store (provider, received_at, reason, source_ip, method, target, headers, head, salt,
                                         concealed, body, body_sha256, bytes, event)
    select u.provider, now() - u.age * interval '1 second', u.reason, u.source_ip::inet, u.method, u.target,
           u.headers::jsonb, u.head, u.salt, u.concealed, u.body, u.body_sha256, u.bytes, u.event
      from unnest($1::text[], $2::float8[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[],
                  $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[])
           with ordinality as u (provider, age, reason, source_ip, method, target, headers, head, salt, concealed, body,
                                 body_sha256, bytes, event, n)
     order by u.n
    returning provider
)
insert into inboxd.counters (provider, minute, quarantined)
select provider, date_trunc('minute', now()), count(*) from kept group by provider
