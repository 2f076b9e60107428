-- min-daemon: 1
-- Lanes: the events of one ordering key run one at a time, in the order received. docs/ordering.md says what that means for
-- who writes handlers, docs/schema.md what each column means.
--
-- A lane is claimed by a lease that is committed (lane_claim.sql, lane_take.sql). Its events run in a second transaction,
-- which ends by locking the lane, if it is still its own, and with that deletes their rows from `work` (lane_settle.sql);
-- a later statement of it says when the lane is to be claimed next, or removes it (lane_next.sql).

-- A row that stepped aside is passed by the others of its lane: a failed one of a provider with order = serial, a deferred
-- one, one that was replayed.
alter table inboxd.work add column aside text collate "C" check (aside in ('retry', 'defer'));
alter table inboxd.work add check (aside is null or lane is not null);

drop index inboxd.work_lane;
-- id + 0, so that no plan walks over the primary key to get a lane's rows in order, past those of all other lanes.
create index work_lane  on inboxd.work (provider, lane, (id + 0)) where lane is not null and aside is null;
create index work_aside on inboxd.work (provider, lane, run_at, id) where aside is not null;

-- number: the order of lanes with the same ready_at, as id is for events; with it the cursor of the claim is like theirs.
create sequence inboxd.lane_seq as bigint cache 32;
alter table inboxd.lane
    add column number      bigint  not null default nextval('inboxd.lane_seq'),
    add column taken_alone boolean not null default false,  -- taken_id is the only row that was claimed
    add column blocked     boolean not null default false;  -- its first event waits, and the others for it
alter sequence inboxd.lane_seq owned by inboxd.lane.number;

-- Led by the key: so that, whatever the statistics say, no plan that has keys reads all lanes of a provider.
alter table inboxd.lane drop constraint lane_pkey;
alter table inboxd.lane add primary key (key, provider);
drop index inboxd.lane_ready;
create index lane_ready   on inboxd.lane (provider, ready_at, number);
create index lane_blocked on inboxd.lane (provider, key) where blocked;

-- The last statements of a transaction that had claimed by a lease call it: a transaction whose lease is not its own any
-- more must not commit anything.
create function inboxd.fence(held boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if held is not true then
        raise exception using errcode = 'IBX04', message = 'the lease ran out and another worker has taken over: nothing is committed';
    end if;
end $$;

-- Undone events, and whether somebody runs them now: a running transaction has claimed the row, or a lease that lasts covers
-- it. due_at: run_at, or when the lane of a blocked key is looked at again.
create or replace view inboxd.undone as
select w.id, w.provider, w.class, w.run_at, w.attempt, w.attempt_base, w.token, w.suspect, w.lane, w.event_type,
       w.received_at, w.deferred_since, w.last_error,
       r.pid is not null
           or coalesce(l.taken_id <> 0 and l.ready_at > now()
                       and case when l.taken_alone then w.id = l.taken_id
                                else w.aside is null and w.id <= l.taken_id end, false)
           or w.class <> 'sql' and w.lane is null and w.token <> 0 and w.run_at > now() as processing,
       r.pid, w.aside,
       coalesce(l.blocked and w.aside is null, false) as blocked,
       case when l.blocked and w.aside is null then greatest(w.run_at, l.ready_at) else w.run_at end as due_at
  from inboxd.work w
  left join inboxd.running_transaction r on r.xid = w.xmax
  left join inboxd.lane l on l.provider = w.provider and l.key = w.lane;

-- Keys whose first event waits for its next attempt under order = strict, and the others for it. waiting: those others.
-- skip(id, why) gives the first one up.
create view inboxd.blocked_keys as
select l.provider, l.key, w.id, e.event_id, w.event_type, w.received_at, w.attempt, w.run_at as next_attempt_at, w.last_error,
       (select count(*) from inboxd.work o
         where o.provider = l.provider and o.lane = l.key and o.lane is not null and o.aside is null and o.id + 0 > w.id) as waiting
  from inboxd.lane l
 cross join lateral (
       select f.* from inboxd.work f
        where f.provider = l.provider and f.lane = l.key and f.lane is not null and f.aside is null and f.id + 0 > l.after_id
        order by f.id + 0 limit 1) w
  left join inboxd.ledger e on e.id = w.id and e.provider = w.provider
 where l.blocked;

-- A row a provider: what waits, why, and for how long. What waits behind a blocked key is scheduled. drain_estimate: what is
-- ready now at the rate of the last ten minutes; null where nothing was done in them. paused_since: null where it is not
-- paused.
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
                    count(*) filter (where not processing and due_at <= now()) as ready,
                    count(*) filter (where not processing and due_at > now() and deferred_since is null) as scheduled,
                    count(*) filter (where not processing and due_at > now() and deferred_since is not null) as deferred,
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
  left join inboxd.ledger l on l.id = u.id and l.provider = u.provider
 where not u.processing
       and (s.provider is null and u.class <> 'pull' or u.due_at < now() - interval '1 minute' or p.provider is not null and u.due_at <= now())
    or u.processing and a.xact_start < now() - interval '1 minute'
 order by u.due_at;

-- What operators do to an event of a lane comes after whoever runs it, and before whoever claims it next: the lane's row is
-- locked first, by everybody. Returns the lane's key, null where the event has none; raises where it is being processed.
create function inboxd.lock_lane_of(id bigint, doing text) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    found_key text;
begin
    perform from inboxd.lane l
       join inboxd.work w on w.provider = l.provider and w.lane = l.key
      where w.id = lock_lane_of.id
        for update of l;
    select u.lane into found_key from inboxd.undone u where u.id = lock_lane_of.id and u.lane is not null and not u.processing;
    if not found and exists (select from inboxd.undone u where u.id = lock_lane_of.id and u.lane is not null) then
        raise exception using errcode = 'object_in_use',
            message = format('cannot %s event %s: it is being processed now', doing, lock_lane_of.id);
    end if;
    return found_key;
end $$;

-- After its rows were changed by hand: the lane, which is locked, is looked at now. A lease that lasts stays.
create function inboxd.wake_lane(provider text, key text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    update inboxd.lane l
       set ready_at = least(l.ready_at, now()), blocked = false
     where l.provider = wake_lane.provider and l.key = wake_lane.key and not (l.taken_id <> 0 and l.ready_at > now())
$$;

-- Locks the lanes of what is to run again, and makes them ready, before the rows are made: in the order of everybody else.
create function inboxd.ready_lanes(providers text[], keys text[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into inboxd.lane as l (provider, key)
    select distinct u.provider collate "C", u.key collate "C"
      from unnest(providers, keys) as u (provider, key)
     where u.key is not null
     order by 1, 2
        on conflict (provider, key) do update
       set ready_at = case when l.taken_id <> 0 and l.ready_at > now() then l.ready_at
                           else least(l.ready_at, excluded.ready_at) end
$$;

-- The lane of an event that is to run again: its ordering key, where its provider has an order now.
create function inboxd.lane_for(provider text, ordering_key text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select lane_for.ordering_key
      from inboxd.provider_policy p
     where p.provider = lane_for.provider and p."order" <> 'none'
$$;

-- The class of an event that is to run again: 'pull' where an application works for its provider; a daemon gives the others
-- the class that their route has now.
create function inboxd.class_for(provider text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select coalesce((select 'pull' from inboxd.provider_policy p where p.provider = class_for.provider and p.class = 'pull'), 'sql')
$$;

-- Runs an event again now: a dead or done one gets a new work row, its attempt numbers go on and the bound counts anew;
-- an undone one that waits becomes due. One with an order runs before the others of its key that wait, and never beside one.
-- Refused where it runs at this moment, and where its content is gone. The lane first, as everybody; then the outcome goes
-- and the content is looked for after: that order makes a purge at the same time harmless.
create or replace function inboxd.replay(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    key  text;
    old  inboxd.outcome;
    ev   record;
    wait record;
begin
    select inboxd.lane_for(o.provider, (select c.ordering_key from inboxd.event_content c where c.id = o.id limit 1))
      into key from inboxd.outcome o where o.id = replay.id;
    if key is not null then
        perform inboxd.ready_lanes(array[o.provider], array[key]) from inboxd.outcome o where o.id = replay.id;
    end if;
    delete from inboxd.outcome o where o.id = replay.id returning o.* into old;
    if found then
        select c.event_type, c.received_at into ev from inboxd.event_content c where c.id = replay.id limit 1;
        if not found then
            raise exception using errcode = 'no_data_found',
                message = format('cannot replay event %s: its content is gone', replay.id),
                hint = 'Contents are kept for `retain` after an event is done; the sender may still be able to resend it.';
        end if;
        insert into inboxd.attempt_log (id, attempt, at, kind, error)
        values (replay.id, old.attempt, old.processed_at, 'replay',
                case old.status when 2 then 'was done' else 'was dead: ' || coalesce(old.last_error, '') end);
        insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at, lane, aside)
        values (replay.id, old.provider, inboxd.class_for(old.provider), old.attempt, old.attempt, ev.event_type, ev.received_at, key,
                case when key is not null then 'retry' end);
        insert into inboxd.audit (action, id, detail)
        values ('replay', replay.id, case old.status when 2 then 'was done' else 'was dead' end);
        return format('event %s was %s and is due now; attempts so far: %s', replay.id,
                      case old.status when 2 then 'done' else 'dead' end, old.attempt);
    end if;
    key := inboxd.lock_lane_of(replay.id, 'replay');
    select w.provider, w.run_at, w.run_at > now() as waits into wait
      from inboxd.work w where w.id = replay.id for update skip locked;
    if not found then
        if exists (select from inboxd.work w where w.id = replay.id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot replay event %s: it is being processed now', replay.id);
        end if;
        raise exception using errcode = 'no_data_found', message = format('there is no event %s', replay.id);
    end if;
    if not wait.waits then
        return format('event %s is due already', replay.id);
    end if;
    update inboxd.work w set run_at = now() where w.id = replay.id;
    if key is not null then
        perform inboxd.wake_lane(wait.provider, key);
    end if;
    insert into inboxd.audit (action, id, detail) values ('replay', replay.id, 'was waiting until ' || wait.run_at);
    return format('event %s was waiting and is due now', replay.id);
end $$;

-- Replays the dead events of a provider (null: of all), dead since `since` (null: ever), whose error is like the pattern
-- (null: any). Returns how many. Dead events never lose their content.
create or replace function inboxd.replay_dead(provider text, since timestamptz default null, error_like text default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids       bigint[];
    providers text[];
    keys      text[];
    n         bigint;
begin
    select array_agg(d.id), array_agg(d.provider), array_agg(inboxd.lane_for(d.provider, d.ordering_key))
      into ids, providers, keys
      from (select o.id, o.provider, (select c.ordering_key from inboxd.event_content c where c.id = o.id limit 1)
              from inboxd.outcome o
             where o.status = 3
               and (replay_dead.provider is null or o.provider = replay_dead.provider)
               and (since is null or o.processed_at >= since)
               and (error_like is null or o.last_error like error_like)) d;
    perform inboxd.ready_lanes(providers, keys);
    with old as (
        delete from inboxd.outcome o where o.id = any (ids) and o.status = 3
        returning o.id, o.provider, o.attempt, o.last_error, o.processed_at
    ), logged as (
        insert into inboxd.attempt_log (id, attempt, at, kind, error)
        select o.id, o.attempt, o.processed_at, 'replay', 'was dead: ' || coalesce(o.last_error, '') from old o
    ), again as (
        insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at, lane, aside)
        select o.id, o.provider, inboxd.class_for(o.provider), o.attempt, o.attempt,
               (select c.event_type from inboxd.event_content c where c.id = o.id limit 1), l.received_at,
               k.key, case when k.key is not null then 'retry' end
          from old o
          join inboxd.ledger l on l.id = o.id
          join unnest(ids, keys) as k (id, key) on k.id = o.id
        returning 1
    )
    select count(*) into n from again;
    insert into inboxd.audit (action, detail)
    values ('replay_dead', format('%s events; provider %L, since %L, error like %L', n, provider, since, error_like));
    return n;
end $$;

-- Gives an undone or dead event up: it counts as finished, with the reason as its last_error, and is not among
-- processed_events. Its identity stays, so that a resent copy is still a duplicate. The others of its key go on.
create or replace function inboxd.discard(id bigint, why text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    reason text := 'discarded: ' || coalesce(nullif(why, ''), 'no reason given');
    key    text := inboxd.lock_lane_of(discard.id, 'discard');
    was    text;
    w      inboxd.work;
    o      inboxd.outcome;
begin
    delete from inboxd.work d
     where d.id = any (array(select s.id from inboxd.work s where s.id = discard.id for update skip locked))
    returning d.* into w;
    if found then
        insert into inboxd.outcome (id, provider, status, attempt, last_error)
        values (w.id, w.provider, 2, w.attempt, reason);
        was := w.last_error;
        if key is not null then
            perform inboxd.wake_lane(w.provider, key);
        end if;
    else
        if exists (select from inboxd.work s where s.id = discard.id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot discard event %s: it is being processed now', discard.id);
        end if;
        select u.* into o from inboxd.outcome u where u.id = discard.id for update;
        if not found then
            raise exception using errcode = 'no_data_found', message = format('there is no event %s', discard.id);
        elsif o.status = 2 then
            raise exception using errcode = 'object_not_in_prerequisite_state',
                message = format('cannot discard event %s: it is done', discard.id);
        end if;
        update inboxd.outcome u
           set status = 2, last_error = reason, processed_at = statement_timestamp()
         where u.id = discard.id;
        was := o.last_error;
    end if;
    insert into inboxd.attempt_log (id, attempt, kind, error) values (discard.id, coalesce(w.attempt, o.attempt), 'discard', was);
    insert into inboxd.audit (action, id, detail) values ('discard', discard.id, why);
    return format('event %s is discarded', discard.id);
end $$;

-- Discards the event that a key waits for, so that the others of the key go on now.
create function inboxd.skip(id bigint, why text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    blocked record;
begin
    select b.key, b.waiting into blocked from inboxd.blocked_keys b where b.id = skip.id;
    if not found then
        raise exception using errcode = 'object_not_in_prerequisite_state',
            message = format('cannot skip event %s: no key waits for it', skip.id),
            hint = 'blocked_keys shows the events that others wait for; discard(id, why) gives any waiting event up.';
    end if;
    return inboxd.discard(skip.id, why) || format('; key %L goes on, events that waited: %s', blocked.key, blocked.waiting);
end $$;

revoke execute on function inboxd.skip(bigint, text), inboxd.lock_lane_of(bigint, text), inboxd.wake_lane(text, text),
    inboxd.ready_lanes(text[], text[]) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant usage, select on sequence inboxd.lane_seq to inboxd_daemon;
        grant execute on function inboxd.fence(boolean) to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.blocked_keys to inboxd_ops;
        grant execute on function inboxd.skip(bigint, text) to inboxd_ops;
    end if;
end $$;
