-- min-daemon: 1
-- Providers whose events wait because an operator said so, and what daemons run with, for functions that make work.

-- Nothing of these is claimed; accepting goes on. Every statement that claims looks here.
create table inboxd.paused (
    provider text collate "C" primary key,
    since    timestamptz not null default now(),
    who      text        not null default session_user,
    why      text
);

-- The keys of each provider's section that matter to what is run again, or run elsewhere. Each daemon writes its
-- providers at its start and after a reload; of two that differ, the last one counts.
create table inboxd.provider_policy (
    provider      text collate "C" primary key,
    class         text collate "C" not null check (class in ('sql', 'leased', 'pull')),  -- of the plain `on`
    "order"       text             not null check ("order" in ('none', 'serial', 'strict')),
    attempts      int              not null,
    backoff_base  interval,                     -- exponential: from 0 to backoff_base * 2^(failures - 1),
    backoff_cap   interval,                     -- at most this
    backoff_steps interval[],                   -- a list: one after the other, the last repeats
    defer         interval         not null,
    defer_limit   interval         not null,
    timeout       interval         not null,
    check (backoff_steps is not null or backoff_base is not null and backoff_cap is not null)
);

alter table inboxd.audit add column provider text collate "C";

-- Nothing more of the provider is started, until resume(); what runs now ends as usual.
create function inboxd.pause(provider text, why text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    old   inboxd.paused;
    ready bigint;
begin
    if not exists (select from inboxd.known_provider k where k.provider = pause.provider) then
        raise exception using errcode = 'no_data_found',
            message = format('there is no provider "%s": no daemon names it, and nothing was ever received for it', pause.provider);
    end if;
    insert into inboxd.paused (provider, why) values (pause.provider, pause.why) on conflict do nothing;
    if not found then
        select p.* into old from inboxd.paused p where p.provider = pause.provider;
        return format('provider %s is paused already, since %s by %s%s', pause.provider, date_trunc('second', old.since), old.who,
                      coalesce(': ' || old.why, ''));
    end if;
    insert into inboxd.audit (action, provider, detail) values ('pause', pause.provider, pause.why);
    select count(*) into ready from inboxd.work w where w.provider = pause.provider;
    return format('provider %s is paused; events that wait: %s; what runs now ends as usual', pause.provider, ready);
end $$;

create function inboxd.resume(provider text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    old   inboxd.paused;
    ready bigint;
begin
    delete from inboxd.paused p where p.provider = resume.provider returning p.* into old;
    if not found then
        return format('provider %s is not paused', resume.provider);
    end if;
    insert into inboxd.audit (action, provider, detail)
    values ('resume', resume.provider, format('was paused since %s by %s%s', old.since, old.who, coalesce(': ' || old.why, '')));
    select count(*) into ready from inboxd.work w where w.provider = resume.provider;
    return format('provider %s goes on after %s; events that wait: %s', resume.provider,
                  date_trunc('second', clock_timestamp() - old.since), ready);
end $$;

revoke execute on function inboxd.pause(text, text), inboxd.resume(text) from public;

-- A row a provider: what waits, why, and for how long. drain_estimate: what is ready now at the rate of the last ten
-- minutes; null where nothing was done in them. paused_since: null where it is not paused.
create or replace view inboxd.backlog as
select p.provider,
       coalesce(u.ready, 0) as ready, coalesce(u.scheduled, 0) as scheduled, coalesce(u.deferred, 0) as deferred,
       coalesce(u.processing, 0) as processing, coalesce(d.dead, 0) as dead, u.oldest_age,
       coalesce(c.done, 0) as done_last_hour, coalesce(c.failed, 0) as failed_last_hour,
       case when coalesce(u.ready, 0) = 0 then interval '0'
            when c.done_lately > 0 then u.ready * interval '10 minutes' / c.done_lately end as drain_estimate,
       s.since as paused_since
  from inboxd.known_provider p
  left join inboxd.paused s on s.provider = p.provider
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

-- Undone events that nobody seems to run, oldest first, with the reason. Those of a paused provider that are due.
create or replace view inboxd.stuck as
select u.id, u.provider, l.event_id, u.event_type, u.received_at, u.run_at as due_at, u.attempt, u.last_error, u.pid,
       case when u.processing then 'claimed by the session with process id ' || u.pid || ', which holds it too long'
            when p.provider is not null
                then 'the provider is paused since ' || date_trunc('second', p.since) || ' by ' || p.who || coalesce(': ' || p.why, '')
            when s.provider is null then 'no living daemon works for this provider'
            else 'due for more than a minute: the workers are behind, or stopped' end as why
  from inboxd.undone u
  left join inboxd.paused p on p.provider = u.provider
  left join (select distinct unnest(d.providers) collate "C" as provider from inboxd.daemon d
              where d.workers > 0 and d.seen_at > now() - interval '30 seconds') s on s.provider = u.provider
  left join pg_catalog.pg_stat_get_activity(null) a on a.pid = u.pid
  left join inboxd.ledger l on l.id = u.id and l.provider = u.provider
 where not u.processing
       and (s.provider is null or u.run_at < now() - interval '1 minute' or p.provider is not null and u.run_at <= now())
    or u.processing and a.xact_start < now() - interval '1 minute'
 order by u.run_at;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select on inboxd.paused to inboxd_daemon;
        grant select, insert, update, delete on inboxd.provider_policy to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.paused, inboxd.provider_policy to inboxd_ops;
        grant execute on function inboxd.pause(text, text), inboxd.resume(text) to inboxd_ops;
    end if;
end $$;
