-- min-daemon: 1
-- A machine that does not know the state of an entity says so. Before, whatever came for it counted as stale, and was done without
-- its handler: after a state was renamed in inboxd.transition, or where no transition begins at ''.

-- Whether the machine is at `event_type` now, later, or past it: 'now', 'early', 'stale'; null: no transition names it; 'unknown':
-- none names the state. Early: some state from which it goes on is still ahead of `state`. In a machine with a cycle nothing on it
-- is ever stale.
create or replace function inboxd.transition_of(machine text, state text, event_type text) returns text
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
           when not exists (select from inboxd.transition t
                             where t.machine = transition_of.machine
                               and transition_of.state in (t.from_state, t.to_state)) then 'unknown'
           else 'stale' end
$$;

-- Moves the entity on by the event type: 'applied'; or 'stale' where it is past it, and nothing changes. Too early: raises what
-- inboxd.defer() raises, so that the event is tried again after the next event of its key is done. Raises an error where no
-- transition of the machine names the type, or the state. Holds the entity until the transaction ends.
create or replace function inboxd.advance(machine text, entity text, event_type text) returns text
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
    when 'unknown' then
        raise exception using errcode = 'no_data_found',
            message = format('machine %L does not know state %L', machine, now_in),
            detail = format('entity %L', entity),
            hint = 'Each state is the from_state or the to_state of a transition; from_state '''' is an entity of which nothing was heard yet.';
    else
        raise exception using errcode = 'no_data_found',
            message = format('no transition of machine %L is by %L', machine, event_type),
            hint = 'Insert it into inboxd.transition (machine, from_state, event_type, to_state).';
    end case;
    return null;  -- not reached
end $$;

-- Not yet, and never, as before; a reason that is empty is none.
create or replace function inboxd.defer(reason text, delay interval default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'IBX01', message = coalesce(nullif(reason, ''), 'deferred'),
        detail = coalesce(extract(epoch from delay)::text, '');
end $$;

create or replace function inboxd.reject(reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'IBX02', message = coalesce(nullif(reason, ''), 'rejected');
end $$;
