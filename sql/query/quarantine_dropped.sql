-- quarantine_dropped.sql: $1 providers, $2 how many of their refused requests were not kept, for want of room in the daemon.
insert into inboxd.counters (provider, minute, quarantine_dropped)
select u.provider, date_trunc('minute', now()), u.dropped
  from unnest($1::text[], $2::bigint[]) as u (provider, dropped)
