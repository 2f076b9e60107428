-- min-daemon: 1
-- Views. webhook_inbox and processed_events have the names, columns and codes that operator queries elsewhere use;
-- the others are for people and for monitoring. All are cheap on a large table: undone work is a small table, counts
-- come from counters, and what a query does not ask for is not looked up.

-- What running transactions hold: their ids are the xmax of the rows that they claimed. (Subtransactions have rows of
-- their own in pg_locks.)
create view inboxd.running_transaction as
select l.transactionid as xid, l.pid
  from pg_catalog.pg_locks l
 where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted;

-- What was sent, wherever it is. An event may be in both for as long as its partition is being emptied.
create view inboxd.event_content as
select id, event_type, ordering_key, received_at, headers, payload, payload_repaired, body, signature_verified, source_ip
  from inboxd.event_store
union all
select id, event_type, ordering_key, received_at, headers, payload, payload_repaired, body, signature_verified, source_ip
  from inboxd.event_kept;

-- Undone events, and whether somebody runs them now: a running transaction has claimed the row, or a lane was taken up to
-- it under a lease that lasts. Joins, not subqueries: their cost is estimated as what it is.
create view inboxd.undone as
select w.*, r.pid is not null or coalesce(l.taken_id >= w.id and l.ready_at > now(), false) as processing, r.pid
  from inboxd.work w
  left join inboxd.running_transaction r on r.xid = w.xmax
  left join inboxd.lane l on l.provider = w.provider and l.key = w.lane;

-- Of the branches the planner leaves out the joins whose columns are not asked for (each matches at most one row). Dead and
-- done have their status as a literal, so that a query that excludes them does not read them. Undone is one branch and its
-- status computed: pg_locks has no snapshot, and two branches would look at it at two moments, so that an event whose claim
-- began or ended in between would be in neither or in both.
create view inboxd.webhook_inbox as
select w.id, w.provider, l.event_id, w.received_at, c.headers, c.payload,
       case when w.processing then 1::smallint else 0::smallint end as status, w.attempt,
       w.run_at as next_attempt_at, w.last_error, null::timestamptz as processed_at, w.deferred_since, w.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip
  from inboxd.undone w
  left join inboxd.ledger l on l.id = w.id and l.provider = w.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = w.id) c on c.id = w.id
union all
select o.id, o.provider, l.event_id, l.received_at, c.headers, c.payload, 3::smallint, o.attempt,
       null, o.last_error, o.processed_at, null, c.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = o.id) c on c.id = o.id
 where o.status = 3
union all
select o.id, o.provider, l.event_id, l.received_at, c.headers, c.payload, 2::smallint, o.attempt,
       null, o.last_error, o.processed_at, null, c.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = o.id) c on c.id = o.id
 where o.status = 2;

-- webhook_inbox for "the newest so many": order by id desc limit n walks the ledger from its end and looks up each event
-- (offset 0 keeps the planner from joining first). Filters on provider, event_id and received_at are the ledger's.
create view inboxd.recent_events as
select l.id, l.provider, l.event_id, l.received_at, i.headers, i.payload, i.status, i.attempt, i.next_attempt_at,
       i.last_error, i.processed_at, i.deferred_since, i.event_type, i.ordering_key, i.payload_repaired, i.body,
       i.signature_verified, i.source_ip
  from inboxd.ledger l
 cross join lateral (select * from inboxd.webhook_inbox w where w.id = l.id offset 0) i;

-- Events whose work was done. A discarded event (its last_error says why) was not processed.
create view inboxd.processed_events as
select o.provider, l.event_id, o.processed_at
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
 where o.status = 2 and o.last_error is null;

-- Providers that have ever sent something, that are configured, or that were refused: one probe of the ledger's key each.
create view inboxd.known_provider as
with recursive seen (provider) as (
    (select l.provider from inboxd.ledger l order by l.provider limit 1)
    union all
    select (select l.provider from inboxd.ledger l where l.provider > s.provider order by l.provider limit 1)
      from seen s where s.provider is not null
)
select provider from seen where provider is not null
union
select unnest(providers) collate "C" from inboxd.daemon
union
select provider from inboxd.counters where minute > now() - interval '1 hour';

-- A row a provider: what waits, why, and for how long. drain_estimate: what is ready now at the rate of the last ten
-- minutes; null where nothing was done in them.
create view inboxd.backlog as
select p.provider,
       coalesce(u.ready, 0) as ready, coalesce(u.scheduled, 0) as scheduled, coalesce(u.deferred, 0) as deferred,
       coalesce(u.processing, 0) as processing, coalesce(d.dead, 0) as dead, u.oldest_age,
       coalesce(c.done, 0) as done_last_hour, coalesce(c.failed, 0) as failed_last_hour,
       case when coalesce(u.ready, 0) = 0 then interval '0'
            when c.done_lately > 0 then u.ready * interval '10 minutes' / c.done_lately end as drain_estimate
  from inboxd.known_provider p
  left join (select provider,
                    count(*) filter (where not processing and run_at <= now()) as ready,
                    count(*) filter (where not processing and run_at > now() and deferred_since is null) as scheduled,
                    count(*) filter (where not processing and run_at > now() and deferred_since is not null) as deferred,
                    count(*) filter (where processing) as processing,
                    now() - min(received_at) as oldest_age
               from inboxd.undone group by provider) u on u.provider = p.provider
  left join (select provider, count(*) as dead from inboxd.outcome where status = 3 group by provider) d
         on d.provider = p.provider
  left join (select provider, sum(done)::bigint as done, sum(failed)::bigint as failed,
                    (sum(done) filter (where minute > now() - interval '10 minutes'))::float8 as done_lately
               from inboxd.counters where minute > now() - interval '1 hour' group by provider) c
         on c.provider = p.provider;

-- Undone events that nobody seems to run, oldest first, with the reason.
create view inboxd.stuck as
select u.id, u.provider, l.event_id, u.event_type, u.received_at, u.run_at as due_at, u.attempt, u.last_error, u.pid,
       case when u.processing then 'claimed by the session with process id ' || u.pid || ', which holds it too long'
            when s.provider is null then 'no living daemon works for this provider'
            else 'due for more than a minute: the workers are behind, or stopped' end as why
  from inboxd.undone u
  left join (select distinct unnest(d.providers) collate "C" as provider from inboxd.daemon d
              where d.workers > 0 and d.seen_at > now() - interval '30 seconds') s on s.provider = u.provider
  left join pg_catalog.pg_stat_get_activity(null) a on a.pid = u.pid
  left join inboxd.ledger l on l.id = u.id and l.provider = u.provider
 where not u.processing and (s.provider is null or u.run_at < now() - interval '1 minute')
    or u.processing and a.xact_start < now() - interval '1 minute'
 order by u.run_at;

-- What goes wrong most, over undone and dead events: the first 200 characters of the error.
create view inboxd.top_errors as
select provider, left(last_error, 200) as error, count(*) as events,
       count(*) filter (where dead) as dead, min(id) as first_id, max(id) as last_id
  from (select provider, last_error, id, false as dead from inboxd.work where last_error is not null
        union all
        select provider, last_error, id, true from inboxd.outcome where status = 3 and last_error is not null) e
 group by 1, 2
 order by 3 desc;

-- Dead events; replay(id), replay_dead(...) or discard(id, why) them.
create view inboxd.dead_letters as
select o.id, o.provider, l.event_id,
       (select e.event_type from inboxd.event_content e where e.id = o.id limit 1) as event_type,
       l.received_at, o.processed_at as died_at, o.attempt, o.last_error
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
 where o.status = 3;

-- Deliveries of what was already there, over the last day. differing: with other bytes than the first.
create view inboxd.duplicates as
select provider, sum(stored)::bigint as stored, sum(duplicate)::bigint as duplicate, sum(differing)::bigint as differing,
       round(sum(duplicate) / nullif(sum(stored) + sum(duplicate), 0), 4) as share
  from inboxd.counters
 where minute > now() - interval '1 day'
 group by provider;

-- A row a provider and minute, over the last hour.
create view inboxd.throughput as
select provider, minute, sum(stored)::bigint as stored, sum(duplicate)::bigint as duplicate,
       sum(refused)::bigint as refused, sum(done)::bigint as done, sum(failed)::bigint as failed
  from inboxd.counters
 where minute > now() - interval '1 hour'
 group by provider, minute
 order by minute desc, provider;

-- Who holds the oldest snapshot, oldest first: while it lasts, no dead row that is younger can be removed, anywhere. Needs
-- pg_read_all_stats to see the sessions of others.
create view inboxd.horizon as
select kind, who, pid, age, since, state
  from (select 'session' as kind, coalesce(nullif(a.application_name, ''), a.backend_type) || ' (' || a.usename || ')' as who,
               a.pid, greatest(age(a.backend_xmin), age(a.backend_xid)) as age, now() - a.xact_start as since, a.state
          from pg_catalog.pg_stat_activity a
         where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
        union all
        select 'replication slot', s.slot_name, s.active_pid, greatest(age(s.xmin), age(s.catalog_xmin)), null,
               case when s.active then 'active' else 'inactive' end
          from pg_catalog.pg_replication_slots s
         where s.xmin is not null or s.catalog_xmin is not null
        union all
        select 'prepared transaction', x.gid, null, age(x.transaction), now() - x.prepared, null
          from pg_catalog.pg_prepared_xacts x) h
 order by age desc;
