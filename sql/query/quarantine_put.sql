-- quarantine_put.sql: keeps refused requests, an array element each: $1 provider, $2 seconds since it came, $3 reason,
-- $4 source address (may be null), $5 method, $6 target made safe, $7 headers (JSON object), $8 exact head (null: none),
-- $9 salt (null: none), $10 how many credentials it conceals, $11 body, $12 SHA-256 of the body, $13 what it counts for;
-- $14 the hashes of all credentials, in order. In one transaction with trim_quarantine() for each of the providers.
with input as materialized (
    select u.*, sum(u.hashes) over (order by u.n) as upto
      from unnest($1::text[], $2::float8[], $3::text[], $4::text[], $5::text[], $6::text[], $9::bytea[], $10::int[],
                  $12::bytea[], $13::bigint[])
           with ordinality as u (provider, age, reason, source_ip, method, target, salt, hashes, body_sha256, bytes, n)
), kept as (
    insert into inboxd.quarantine_store (provider, received_at, reason, source_ip, method, target, headers, head, salt,
                                         concealed, body, body_sha256, bytes)
    select i.provider, now() - i.age * interval '1 second', i.reason, i.source_ip::inet, i.method, i.target,
           (($7::text[])[i.n])::jsonb, ($8::bytea[])[i.n], i.salt,
           ($14::bytea[])[i.upto - i.hashes + 1 : i.upto], ($11::bytea[])[i.n], i.body_sha256, i.bytes
      from input i order by i.n
)
insert into inboxd.counters (provider, minute, quarantined)
select provider, date_trunc('minute', now()), count(*) from input group by provider
