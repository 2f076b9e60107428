-- due_providers.sql: $1 providers, $2 queues ('sql', 'leased', 'lane'), $3 their cursors' times, $4 their cursors' ids.
-- A row an element: n (1 for the first element), due (something past the cursor can be claimed now), suspect_due (an
-- event that runs alone can), next_at (when the next of either kind is due; null: there is none), now (the database's
-- clock), due_at (run_at of the first event, or ready_at of the first lane, past the cursor; null: there is none). Of a
-- paused provider nothing is.
-- One probe of index work_due and one of work_suspect, or one of lane_ready, an element.
select u.n::int as n,
       coalesce(coalesce(d.run_at, k.ready_at) <= now(), false) as due,
       coalesce(s.run_at <= now(), false) as suspect_due,
       least(d.run_at, k.ready_at, s.run_at) as next_at,
       now() as now,
       coalesce(d.run_at, k.ready_at) as due_at
  from unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) with ordinality as u (provider, queue, at, id, n)
  left join inboxd.paused p on p.provider = u.provider
  left join lateral (
       select w.run_at from inboxd.work w
        where p.provider is null and u.queue <> 'lane' and w.provider = u.provider and w.class = u.queue and w.lane is null
          and not w.suspect and (w.run_at, w.id) > (u.at, u.id)
        order by w.run_at, w.id limit 1) d on true
  left join lateral (
       select w.run_at from inboxd.work w
        where p.provider is null and u.queue <> 'lane' and w.provider = u.provider and w.class = u.queue and w.lane is null
          and w.suspect
        order by w.run_at, w.id limit 1) s on true
  left join lateral (
       select l.ready_at from inboxd.lane l
        where p.provider is null and u.queue = 'lane' and l.provider = u.provider and (l.ready_at, l.number) > (u.at, u.id)
        order by l.ready_at, l.number limit 1) k on true
