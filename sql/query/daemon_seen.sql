-- daemon_seen.sql: $1 instance (unique, made at start), $2 host, $3 process id, $4 version, $5 worker threads, $6 providers
-- of the configuration, $7 workers whose handler does not return. Each daemon says every 10 s that it lives; rows of daemons
-- unseen for an hour go.
with gone as (
    delete from inboxd.daemon where seen_at < now() - interval '1 hour' and instance <> $1::text
)
insert into inboxd.daemon as d (instance, host, pid, version, workers, providers, hung, hung_since)
values ($1::text, $2::text, $3::int, $4::text, $5::int, $6::text[], $7::int, case when $7::int > 0 then now() end)
    on conflict (instance) do update set seen_at = now(), version = excluded.version, workers = excluded.workers,
                                         providers = excluded.providers, hung = excluded.hung,
                                         hung_since = case when excluded.hung > 0 then coalesce(d.hung_since, now()) end
