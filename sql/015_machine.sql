-- min-daemon: 1
-- Late events: state machines that say whether an event comes too early or too late, and versions. docs/late-events.md.

-- The transitions of machines; rows are the user's. from_state '' is an entity of which nothing was heard yet.
create table inboxd.transition (
    machine    text collate "C" not null,
    from_state text collate "C" not null default '',
    event_type text collate "C" not null,
    to_state   text collate "C" not null check (to_state <> ''),
    primary key (machine, from_state, event_type)
);

-- Where each entity is. Written by advance().
create table inboxd.entity_state (
    machine    text collate "C" not null,
    entity     text collate "C" not null,
    state      text collate "C" not null,
    event_type text collate "C",                              -- that brought it here
    changed_at timestamptz      not null default now(),
    primary key (machine, entity)
);

-- The highest version of something that was seen. Written by newer().
create table inboxd.version_seen (
    scope   text collate "C" not null,
    key     text collate "C" not null,
    version numeric          not null,
    seen_at timestamptz      not null default now(),
    primary key (scope, key)
);

-- Attempts that ended in "done, and its handler did not run".
alter table inboxd.attempt_log drop constraint attempt_log_kind_check;
alter table inboxd.attempt_log add constraint attempt_log_kind_check
    check (kind in ('retry', 'defer', 'dead', 'timeout', 'lost', 'replay', 'discard', 'redelivered', 'stale', 'superseded'));

-- Whether the machine is at `event_type` now, later, or past it: 'now', 'early', 'stale'; null: no transition names it.
-- Early: some state from which it goes on is still ahead of `state`. In a machine with a cycle nothing on it is ever stale.
create function inboxd.transition_of(machine text, state text, event_type text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    with recursive ahead (state) as (
        select t.to_state from inboxd.transition t
         where t.machine = transition_of.machine and t.from_state = transition_of.state
        union
        select t.to_state from ahead a
          join inboxd.transition t on t.machine = transition_of.machine and t.from_state = a.state
    )
    select case
           when not exists (select from inboxd.transition t
                             where t.machine = transition_of.machine and t.event_type = transition_of.event_type) then null
           when exists (select from inboxd.transition t
                         where t.machine = transition_of.machine and t.event_type = transition_of.event_type
                           and t.from_state = transition_of.state) then 'now'
           when exists (select from ahead a join inboxd.transition t on t.from_state = a.state
                         where t.machine = transition_of.machine and t.event_type = transition_of.event_type) then 'early'
           else 'stale' end
$$;

-- Moves the entity on by the event type: 'applied'; or 'stale' where it is past it, and nothing changes. Too early: raises what
-- inboxd.defer() raises, so that the event is tried again after the next event of its key is done. Raises an error where no
-- transition of the machine names the type. Holds the entity until the transaction ends.
create function inboxd.advance(machine text, entity text, event_type text) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    now_in text;
    next   text;
begin
    if machine is null or entity is null or event_type is null then
        raise exception using errcode = 'null_value_not_allowed',
            message = 'inboxd.advance() needs a machine, an entity and an event type',
            detail = format('machine %L, entity %L, event type %L', machine, entity, event_type);
    end if;
    select s.state into now_in from inboxd.entity_state s
     where s.machine = advance.machine and s.entity = advance.entity for update;
    if not found then
        -- Two first events at once: the second waits here for the first.
        insert into inboxd.entity_state (machine, entity, state) values (advance.machine, advance.entity, '')
            on conflict do nothing;
        select s.state into now_in from inboxd.entity_state s
         where s.machine = advance.machine and s.entity = advance.entity for update;
    end if;
    case inboxd.transition_of(machine, now_in, event_type)
    when 'now' then
        select t.to_state into next from inboxd.transition t
         where t.machine = advance.machine and t.from_state = now_in and t.event_type = advance.event_type;
        update inboxd.entity_state s set state = next, event_type = advance.event_type, changed_at = now()
         where s.machine = advance.machine and s.entity = advance.entity;
        return 'applied';
    when 'stale' then
        return 'stale';
    when 'early' then
        perform inboxd.defer(format('too early: %s of %s, which is %s', event_type, entity,
                                    coalesce('in state ' || nullif(now_in, ''), 'not known yet')));
    else
        raise exception using errcode = 'no_data_found',
            message = format('no transition of machine %L is by %L', machine, event_type),
            hint = 'Insert it into inboxd.transition (machine, from_state, event_type, to_state).';
    end case;
    return null;  -- not reached
end $$;

-- What `machine = NAME` in a provider's section runs before the handler. The entity is the event's ordering key. Stale raises
-- SQLSTATE IBX03: the event is done without its handler. A type that no transition names passes; so does an event without a key.
create function inboxd.advance_event(machine text, id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    e record;
begin
    select c.event_type, c.ordering_key into e from inboxd.event_content c where c.id = advance_event.id limit 1;
    if e.ordering_key is null or e.event_type is null or
       not exists (select from inboxd.transition t
                    where t.machine = advance_event.machine and t.event_type = e.event_type) then
        return;
    end if;
    if inboxd.advance(machine, e.ordering_key, e.event_type) = 'stale' then
        raise exception using errcode = 'IBX03',
            message = format('stale: %s is past %s', e.ordering_key, e.event_type);
    end if;
end $$;

-- True only for a version above the last one seen for (scope, key), which it then is; concurrent callers wait for each other.
create function inboxd.newer(scope text, key text, version numeric) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if scope is null or key is null or version is null or version = 'NaN' then
        raise exception using errcode = 'null_value_not_allowed',
            message = 'inboxd.newer() needs a scope, a key and a version that is a number',
            detail = format('scope %L, key %L, version %L', scope, key, version);
    end if;
    insert into inboxd.version_seen as v (scope, key, version) values (newer.scope, newer.key, newer.version)
        on conflict on constraint version_seen_pkey
        do update set version = excluded.version, seen_at = excluded.seen_at where v.version < excluded.version;
    return found;
end $$;

-- The same for a time, to the microsecond.
create function inboxd.newer(scope text, key text, version timestamptz) returns boolean
language sql set search_path = pg_catalog, pg_temp as $$
    select inboxd.newer(scope, key, extract(epoch from version))
$$;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select on inboxd.transition to inboxd_daemon;
        grant select, insert, update, delete on inboxd.entity_state, inboxd.version_seen to inboxd_daemon;
        grant execute on function inboxd.transition_of(text, text, text), inboxd.advance(text, text, text),
            inboxd.advance_event(text, bigint), inboxd.newer(text, text, numeric), inboxd.newer(text, text, timestamptz)
            to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.transition, inboxd.entity_state, inboxd.version_seen to inboxd_ops;
        grant execute on function inboxd.transition_of(text, text, text) to inboxd_ops;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_app') then
        grant execute on function inboxd.transition_of(text, text, text), inboxd.advance(text, text, text),
            inboxd.newer(text, text, numeric), inboxd.newer(text, text, timestamptz) to inboxd_app;
        grant select on inboxd.transition to inboxd_app;
        grant select, insert, update on inboxd.entity_state, inboxd.version_seen to inboxd_app;
    end if;
end $$;
