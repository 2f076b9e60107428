-- min-daemon: 1
-- Every replay is a command: one row in audit with who, why, what was asked for (ids or a predicate) and how many, whether it was
-- called by id, by replay_dead or by predicate.

-- error_like: last_error is like it. For replay_dead.
alter type inboxd.replay_predicate add attribute error_like text;

create or replace function inboxd.replay_fits(p inboxd.replay_predicate, o inboxd.outcome) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select o.status = any (p.status)
       and o.processed_at <= p.as_of
       and (p.provider is null or o.provider = p.provider)
       and (p.ended_since is null or o.processed_at >= p.ended_since)
       and (p.ended_until is null or o.processed_at < p.ended_until)
       and (p.error is null or strpos(o.last_error, p.error) > 0)
       and (p.error_regex is null or o.last_error ~ p.error_regex)
       and (p.error_like is null or o.last_error like p.error_like)
       and (p.received_since is null and p.received_until is null
            or exists (select from inboxd.ledger l
                        where l.id = o.id
                          and (p.received_since is null or l.received_at >= p.received_since)
                          and (p.received_until is null or l.received_at < p.received_until)))
       and (p.event_type is null
            or exists (select from inboxd.event_content c
                        where c.id = o.id
                          and case when right(p.event_type, 1) = '*' then starts_with(c.event_type, left(p.event_type, -1))
                                   else c.event_type = p.event_type end))
$$;

-- The row of a command, whose number its steps want. asked: the predicate, or {"ids": [...]}.
create function inboxd.replay_command(asked jsonb, provider text, id bigint, fitting bigint, why text) returns bigint
language sql set search_path = pg_catalog, pg_temp as $$
    insert into inboxd.audit (action, provider, id, detail, why, counts)
    values ('replay', provider, id, asked::text, nullif(why, ''),
            jsonb_build_object('found', fitting, 'replayed', 0, 'gone', 0, 'changed', 0))
    returning number
$$;

-- Begins a command by predicate.
create or replace function inboxd.replay_begin(p inboxd.replay_predicate, fitting bigint, why text) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
    select inboxd.replay_command(jsonb_strip_nulls(to_jsonb(p)), p.provider, null, fitting, why)
$$;

-- Begins a command by ids. A single one is in audit.id, too.
create function inboxd.replay_begin(ids bigint[], why text) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
    select inboxd.replay_command(jsonb_build_object('ids', ids), null, case cardinality(ids) when 1 then ids[1] end,
                                 cardinality(ids), why)
$$;

-- Adds to the counts of a command that the caller has begun; its row is locked by that.
create function inboxd.replay_count(command bigint, replayed bigint, gone bigint, changed bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update inboxd.audit a
       set counts = a.counts || jsonb_build_object('replayed', (a.counts->>'replayed')::bigint + replayed,
                                                   'gone', (a.counts->>'gone')::bigint + gone,
                                                   'changed', (a.counts->>'changed')::bigint + changed)
     where a.number = command and a.action = 'replay' and a.who = session_user;
    if not found then
        raise exception using errcode = 'no_data_found', message = format('you have begun no replay with number %s', command);
    end if;
end $$;

-- Runs these events again, if they still fit. gone: those whose content is gone; they stay as they are, as do those that somebody
-- else was faster with (changed). The lanes first, as everybody; then the outcomes are locked, in their order, and only then the
-- contents are looked for: that order makes a purge at the same time harmless. Nothing in it is worse than linear in the ids.
create or replace function inboxd.replay_batch(command bigint, p inboxd.replay_predicate, ids bigint[])
returns table (replayed bigint, gone bigint[], changed bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    providers text[];
    keys      text[];
    mine      bigint[];
    present   bigint[];
begin
    perform inboxd.replay_count(command, 0, 0, 0);
    select array_agg(o.id), array_agg(o.provider), array_agg(inboxd.lane_for(o.provider, c.ordering_key))
      into mine, providers, keys
      from unnest(ids) as i (id)
      join inboxd.outcome o on o.id = i.id
      left join lateral (select e.ordering_key from inboxd.event_content e where e.id = o.id limit 1) c on true;
    perform inboxd.ready_lanes(providers, keys);
    with locked as materialized (
        select o.id, k.key from unnest(mine, keys) as k (id, key) join inboxd.outcome o on o.id = k.id
         where inboxd.replay_fits(p, o)
         order by o.id for update of o
    )
    select coalesce(array_agg(l.id), '{}'), array_agg(l.key) into mine, keys from locked l;
    select coalesce(array_agg(m.id), '{}'), array_agg(m.key) into present, keys
      from unnest(mine, keys) as m (id, key)
     cross join lateral (select from inboxd.event_content e where e.id = m.id limit 1) c;
    insert into inboxd.attempt_log (id, attempt, at, kind, error)
    select o.id, o.attempt, o.processed_at, 'replay',
           case o.status when 2 then 'was done' else 'was dead: ' || coalesce(o.last_error, '') end
      from unnest(present) as i (id) join inboxd.outcome o on o.id = i.id;
    insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at, lane, aside)
    select o.id, o.provider, inboxd.class_for(o.provider), o.attempt, o.attempt, c.event_type, c.received_at, k.key,
           case when k.key is not null then 'retry' end
      from unnest(present, keys) as k (id, key)
      join inboxd.outcome o on o.id = k.id
     cross join lateral (select e.event_type, e.received_at from inboxd.event_content e where e.id = o.id limit 1) c;
    get diagnostics replayed = row_count;
    delete from inboxd.outcome o using unnest(present) as i (id) where o.id = i.id;
    gone := array(select m.id from unnest(mine) as m (id) except select i.id from unnest(present) as i (id) order by 1);
    changed := cardinality(ids) - cardinality(mine);
    perform inboxd.replay_count(command, replayed, cardinality(gone), changed);
    return next;
end $$;

-- Runs one event of a command by ids again: a dead or done one gets a new work row, its attempt numbers go on and the bound counts
-- anew; an undone one that waits becomes due. One with an order runs before the others of its key that wait, and never beside one.
-- Refused where it runs at this moment, and where its content is gone. The lane first, as everybody; then the outcome goes and the
-- content is looked for after: that order makes a purge at the same time harmless.
create function inboxd.replay_one(command bigint, id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    key  text;
    old  inboxd.outcome;
    ev   record;
    wait record;
begin
    select inboxd.lane_for(o.provider, (select c.ordering_key from inboxd.event_content c where c.id = o.id limit 1))
      into key from inboxd.outcome o where o.id = replay_one.id;
    if key is not null then
        perform inboxd.ready_lanes(array[o.provider], array[key]) from inboxd.outcome o where o.id = replay_one.id;
    end if;
    delete from inboxd.outcome o where o.id = replay_one.id returning o.* into old;
    if found then
        select c.event_type, c.received_at into ev from inboxd.event_content c where c.id = replay_one.id limit 1;
        if not found then
            raise exception using errcode = 'no_data_found',
                message = format('cannot replay event %s: its content is gone', replay_one.id),
                hint = 'Contents are kept for `retain` after an event is done; the sender may still be able to resend it.';
        end if;
        insert into inboxd.attempt_log (id, attempt, at, kind, error)
        values (replay_one.id, old.attempt, old.processed_at, 'replay',
                case old.status when 2 then 'was done' else 'was dead: ' || coalesce(old.last_error, '') end);
        insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at, lane, aside)
        values (replay_one.id, old.provider, inboxd.class_for(old.provider), old.attempt, old.attempt, ev.event_type,
                ev.received_at, key, case when key is not null then 'retry' end);
        perform inboxd.replay_count(command, 1, 0, 0);
        return format('event %s was %s and is due now; attempts so far: %s', replay_one.id,
                      case old.status when 2 then 'done' else 'dead' end, old.attempt);
    end if;
    key := inboxd.lock_lane_of(replay_one.id, 'replay');
    select w.provider, w.run_at, w.run_at > now() as waits into wait
      from inboxd.work w where w.id = replay_one.id for update skip locked;
    if not found then
        if exists (select from inboxd.work w where w.id = replay_one.id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot replay event %s: it is being processed now', replay_one.id);
        end if;
        raise exception using errcode = 'no_data_found', message = format('there is no event %s', replay_one.id);
    end if;
    if not wait.waits then
        perform inboxd.replay_count(command, 0, 0, 1);
        return format('event %s is due already', replay_one.id);
    end if;
    update inboxd.work w set run_at = now() where w.id = replay_one.id;
    if key is not null then
        perform inboxd.wake_lane(wait.provider, key);
    end if;
    perform inboxd.replay_count(command, 1, 0, 0);
    return format('event %s was waiting and is due now', replay_one.id);
end $$;

-- Runs an event again now, and says how it stood.
drop function inboxd.replay(bigint);
create function inboxd.replay(id bigint, why text default null) returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
    select inboxd.replay_one(inboxd.replay_begin(array[id], why), id)
$$;

-- Replays the dead events of a provider (null: of all), dead since `since` (null: ever), whose error is like the pattern
-- (null: any). Returns how many. ONE transaction, which holds the keys of all of them until it commits: for tens of thousands
-- `inboxctl replay` is right, which goes in short ones.
drop function inboxd.replay_dead(text, timestamptz, text);
create function inboxd.replay_dead(provider text, since timestamptz default null, error_like text default null,
                                   why text default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    p   inboxd.replay_predicate;
    ids bigint[];
begin
    p.provider := provider;
    p.status := '{3}';
    p.ended_since := since;
    p.error_like := error_like;
    p.as_of := clock_timestamp();
    ids := (select f.ids from inboxd.replay_find(p) f);
    return (select b.replayed from inboxd.replay_batch(inboxd.replay_begin(p, cardinality(ids), why), p, ids) b);
end $$;

revoke execute on function inboxd.replay(bigint, text), inboxd.replay_dead(text, timestamptz, text, text),
    inboxd.replay_command(jsonb, text, bigint, bigint, text), inboxd.replay_begin(bigint[], text),
    inboxd.replay_one(bigint, bigint), inboxd.replay_count(bigint, bigint, bigint, bigint) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant execute on function inboxd.replay(bigint, text), inboxd.replay_dead(text, timestamptz, text, text),
            inboxd.replay_begin(bigint[], text), inboxd.replay_one(bigint, bigint) to inboxd_ops;
    end if;
end $$;
