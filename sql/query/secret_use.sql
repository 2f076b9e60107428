-- secret_use.sql: $1 providers, $2 references, $3 ordinals, $4 numbers of configured secrets, $5 how often each verified a
-- request since the last time. Sorted as the key is, so that two daemons never wait for each other. What no configuration
-- has had for 30 days goes.
with gone as (
    delete from inboxd.secret_use_store where seen_at < now() - interval '30 days'
)
insert into inboxd.secret_use_store as s (provider, reference, ordinal, number, uses, last_used_at)
select u.provider, u.reference, u.ordinal, u.number, u.uses, case when u.uses > 0 then now() end
  from unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bigint[]) as u (provider, reference, ordinal, number, uses)
 order by u.provider collate "C", u.reference collate "C", u.ordinal
    on conflict (provider, reference, ordinal) do update
       set uses = s.uses + excluded.uses, last_used_at = coalesce(excluded.last_used_at, s.last_used_at),
           number = excluded.number, seen_at = now()
