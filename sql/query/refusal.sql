-- refusal.sql: $1 providers, $2 reasons, $3 how many requests were refused so since the last time, $4 size and $5 limit of the
-- last one that was too large, $6 the largest size (0: not known). Sorted as the key is, so that two daemons never wait for
-- each other. What is older than 30 days goes.
with refused as (
    select u.*
      from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
           as u (provider, reason, requests, last_bytes, last_limit, largest)
), gone as (
    delete from inboxd.refusal_store where hour < now() - interval '30 days'
), counted as (
    insert into inboxd.counters (provider, minute, refused)
    select r.provider, date_trunc('minute', now()), sum(r.requests) from refused r group by r.provider
)
insert into inboxd.refusal_store as s (provider, hour, reason, requests, last_bytes, last_limit, largest)
select r.provider, date_trunc('hour', now()), r.reason, r.requests, nullif(r.last_bytes, 0), nullif(r.last_limit, 0),
       nullif(r.largest, 0)
  from refused r
 order by r.provider collate "C", r.reason collate "C"
    on conflict (provider, hour, reason) do update
       set requests = s.requests + excluded.requests, last_at = now(),
           last_bytes = coalesce(excluded.last_bytes, s.last_bytes), last_limit = coalesce(excluded.last_limit, s.last_limit),
           largest = greatest(s.largest, excluded.largest)
