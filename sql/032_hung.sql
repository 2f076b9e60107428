-- min-daemon: 1
-- Workers whose handler does not return: a plug-in cannot be stopped, and until its daemon ends it has a worker less.

-- hung: how many of the workers; hung_since: since when there is one.
alter table inboxd.daemon add column hung int not null default 0, add column hung_since timestamptz;

-- A row per condition that wants a person now; docs/alerts.md says what to do. Reads undone work, sums of the last hour or
-- day, and small tables; nothing that grows with what was done.
create or replace view inboxd.alerts as
with living as (
    select d.providers, d.workers from inboxd.daemon d where d.seen_at > now() - interval '30 seconds'
), waiting as (
    select u.provider, count(*) as events, min(u.received_at) as since
      from inboxd.undone u
     where u.received_at < now() - interval '1 hour' and u.deferred_since is null
     group by u.provider
), sums as (
    select c.provider, sum(c.stored + c.duplicate) as accepted
      from inboxd.counters c where c.minute >= date_trunc('hour', now()) - interval '1 hour' group by c.provider
), unsigned as (
    select r.provider, sum(r.lately) as requests, min(r.since) as since,
           (array_agg(r.reason order by r.lately desc))[1] as mostly
      from inboxd.refusals r
     where r.reason in ('missing signature', 'bad signature', 'stale timestamp') and r.lately > 0
     group by r.provider
)
select 'no daemon' as condition, null::text collate "C" as provider,
       (select max(d.seen_at) from inboxd.daemon d) as since,
       'no daemon has said within 30 seconds that it lives' as detail,
       'nothing is received or run: systemctl status inboxd, journalctl -u inboxd' as advice
 where not exists (select from living)
union all
select 'hung worker', null, d.hung_since, 'of the ' || d.workers || ' workers of ' || d.host || ' ' || d.pid || ', ' || d.hung
       || case d.hung when 1 then ' runs a handler that does' else ' run handlers that do' end || ' not return',
       case when d.hung >= d.workers then 'it works nothing off any more' else 'its other workers go on' end
       || ': restart it; journalctl -u inboxd names the provider and the event; exec: can be stopped, a plug-in cannot'
  from inboxd.daemon d
 where d.hung > 0 and d.seen_at > now() - interval '30 seconds'
union all
select 'stuck', s.provider, min(s.due_at), count(*) || case count(*) when 1 then ' event: ' else ' events: ' end || s.why,
       case when s.why like 'claimed by%' then 'see pg_stat_activity, and horizon; pg_terminate_backend(pid) gives the event back'
            when s.why like 'the provider is paused%' then 'inboxctl resume ' || s.provider
            when s.why like 'no living daemon%' then 'start a daemon with this section and workers above 0, or discard the events'
            else 'raise workers or concurrency, or see top_errors and slow handlers' end
  from inboxd.stuck s
 group by s.provider, s.why
union all
select 'old', w.provider, w.since, w.events || case w.events when 1 then ' event has' else ' events have' end
       || ' been undone for more than an hour',
       'see top_errors and backlog: handlers fail, or the workers are too few'
  from waiting w
union all
select 'dead', o.provider, min(o.processed_at), count(*) || case count(*) when 1 then ' event' else ' events' end
       || ' died within the last hour, the last one: ' || left((array_agg(o.last_error order by o.processed_at desc))[1], 200),
       'see dead_letters; when the reason is mended: inboxctl replay --dead --provider ' || o.provider
  from inboxd.outcome o
 where o.status = 3 and o.processed_at > now() - interval '1 hour'
 group by o.provider
union all
select 'too large', r.provider, r.since, r.requests || case r.requests when 1 then ' request' else ' requests' end
       || ' of up to ' || coalesce(r.largest::text, 'unknown') || ' bytes refused with 413 within a day; max_body was '
       || coalesce(r.last_limit::text, 'unknown'),
       'raise max_body of [provider ' || r.provider || '], reload, and have them sent again: many senders do not by themselves'
  from inboxd.refusals r where r.reason = 'body too large'
union all
select 'signatures', u.provider, u.since, u.requests || ' of ' || u.requests + coalesce(s.accepted, 0)
       || ' requests lately were not signed as they should be, mostly: ' || u.mostly,
       'is the secret today''s? inboxctl quarantine list --provider ' || u.provider
       || ', inboxctl verify; then inboxctl quarantine release --provider ' || u.provider || ' --all'
  from unsigned u left join sums s on s.provider = u.provider
 where u.requests >= 10 and u.requests > (u.requests + coalesce(s.accepted, 0)) / 10
union all
select 'quarantine full', c.provider, min(c.minute), sum(c.quarantine_dropped) || ' refused requests of the last hour were not kept',
       'raise quarantine_max of [provider ' || c.provider || '], or release and drop what it holds: inboxctl quarantine'
  from inboxd.counters c
 where c.minute > now() - interval '1 hour' and c.quarantine_dropped > 0
 group by c.provider
union all
select 'old secret', s.provider, coalesce(s.last_used_at, s.since),
       s.reference || ' has verified nothing for a week, another secret of the provider has',
       'take its line out of [provider ' || s.provider || '] and reload'
  from inboxd.secret_use s where s.retire
union all
select 'secret to accept', c.provider, c.captured_at, 'secret ' || c.id || ' was handed over from ' || coalesce(c.source_ip, 'unknown')
       || ' and verifies nothing yet',
       'if you have just set up the webhook: inboxctl secrets accept ' || c.id || '; else: inboxctl secrets reject ' || c.id
  from inboxd.captured_secrets c where c.state = 'waiting'
union all
select 'to confirm', c.provider, max(c.received_at), count(*) || ' subscription' || case count(*) when 1 then '' else 's' end
       || ' asked within a day to be confirmed',
       'open the address if it is yours: select address from inboxd.confirmation where provider = ' || quote_literal(c.provider)
  from inboxd.confirmation c where c.received_at > now() - interval '1 day'
 group by c.provider;
