-- count.sql: $1 providers, $2 duplicates that never reached the database (folded in memory), $3 refused requests:
-- what only the daemon knows, added to the counters from time to time.
insert into inboxd.counters (provider, minute, duplicate, refused)
select u.provider, date_trunc('minute', now()), u.duplicate, u.refused
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as u (provider, duplicate, refused)
