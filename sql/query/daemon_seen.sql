-- daemon_seen.sql: $1 instance (unique, made at start), $2 host, $3 process id, $4 version, $5 worker threads, $6 providers
-- of the configuration. Each daemon says every 10 s that it lives; rows of daemons unseen for an hour go.
with gone as (
    delete from inboxd.daemon where seen_at < now() - interval '1 hour' and instance <> $1::text
)
insert into inboxd.daemon as d (instance, host, pid, version, workers, providers)
values ($1::text, $2::text, $3::int, $4::text, $5::int, $6::text[])
    on conflict (instance) do update set seen_at = now(), version = excluded.version, workers = excluded.workers,
                                         providers = excluded.providers
