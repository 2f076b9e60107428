-- due_providers.sql: $1 providers, $2 their cursors' run_at (microseconds since 1970), $3 their cursors' ids. A row a
-- provider: n (1 for the first element), due (an event past the cursor can be claimed now), suspect_due (one that
-- runs alone can), next_us (when the next of either kind is due; null: there is none), now_us (the database's clock).
-- One probe of index work_due and one of work_suspect a provider.
select u.n::int as n,
       coalesce(d.run_at <= now(), false) as due,
       coalesce(s.run_at <= now(), false) as suspect_due,
       (date_part('epoch', least(d.run_at, s.run_at)) * 1000000)::bigint as next_us,
       (date_part('epoch', now()) * 1000000)::bigint as now_us
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as u (provider, run_at_us, id, n)
  left join lateral (
       select w.run_at from inboxd.work w
        where w.provider = u.provider and w.class = 'sql' and w.lane is null and not w.suspect
          and (w.run_at, w.id) > (timestamptz 'epoch' + u.run_at_us * interval '1 microsecond', u.id)
        order by w.run_at, w.id limit 1) d on true
  left join lateral (
       select w.run_at from inboxd.work w
        where w.provider = u.provider and w.class = 'sql' and w.lane is null and w.suspect
        order by w.run_at, w.id limit 1) s on true
