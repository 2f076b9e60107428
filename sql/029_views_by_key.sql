-- min-daemon: 1
-- Two views took the planner's word for how few rows there are: where the tables were never analyzed, or other rows were dead or
-- waited then, they read the whole ledger. Its rows are looked up one by one now, whatever the statistics say.

-- Dead events; replay(id), replay_dead(...) or discard(id, why) them. redelivered_at: when the sender last sent one again.
create or replace view inboxd.dead_letters as
select o.id, o.provider, l.event_id,
       (select e.event_type from inboxd.event_content e where e.id = o.id limit 1) as event_type,
       l.received_at, o.processed_at as died_at, o.attempt, o.last_error,
       (select max(a.at) from inboxd.attempt_log a
         where a.id = o.id and a.kind = 'redelivered' and a.at >= o.processed_at) as redelivered_at
  from inboxd.outcome o
  left join lateral (select e.event_id, e.received_at from inboxd.ledger e where e.id = o.id limit 1) l on true
 where o.status = 3;

-- Undone events that nobody seems to run, oldest first, with the reason. Those of a paused provider that are due.
create or replace view inboxd.stuck as
select u.id, u.provider, l.event_id, u.event_type, u.received_at, u.due_at, u.attempt, u.last_error, u.pid,
       case when u.processing then 'claimed by the session with process id ' || u.pid || ', which holds it too long'
            when p.provider is not null
                then 'the provider is paused since ' || date_trunc('second', p.since) || ' by ' || p.who || coalesce(': ' || p.why, '')
            when u.class = 'pull' then 'due for more than a minute: no application claims it'
            when s.provider is null then 'no living daemon works for this provider'
            else 'due for more than a minute: the workers are behind, or stopped' end as why
  from inboxd.undone u
  left join inboxd.paused p on p.provider = u.provider
  left join (select distinct unnest(d.providers) collate "C" as provider from inboxd.daemon d
              where d.workers > 0 and d.seen_at > now() - interval '30 seconds') s on s.provider = u.provider
  left join pg_catalog.pg_stat_get_activity(null) a on a.pid = u.pid
  left join lateral (select e.event_id from inboxd.ledger e where e.id = u.id limit 1) l on true
 where not u.processing
       and (s.provider is null and u.class <> 'pull' or u.due_at < now() - interval '1 minute' or p.provider is not null and u.due_at <= now())
    or u.processing and a.xact_start < now() - interval '1 minute'
 order by u.due_at;
