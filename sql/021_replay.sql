-- min-daemon: 1
-- Replay by predicate. What fits is found first, page by page, then run again in batches: each is a short transaction that
-- adds to the command's one row in audit, so that the row is true whenever the command ends.

-- number: how a command finds its row again.
alter table inboxd.audit
    add column number bigint generated always as identity primary key,
    add column why    text,
    add column counts jsonb;

-- Which finished events; a null asks for nothing. Of events that were done or died after as_of none fits: a command does not
-- meet what it has run itself.
create type inboxd.replay_predicate as (
    provider       text,
    event_type     text,          -- a trailing * stands for any rest
    status         smallint[],    -- 2 done, 3 dead
    received_since timestamptz,
    received_until timestamptz,
    ended_since    timestamptz,
    ended_until    timestamptz,
    error          text,          -- last_error contains it
    error_regex    text,          -- last_error matches it
    as_of          timestamptz
);

-- A point in time as people write it: 90m is so long ago, else a timestamp.
create function inboxd.moment(written text) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
    select case when written ~ '^[0-9]+(ms|s|m|h|d)$' then now() - written::interval else written::timestamptz end
$$;

-- A predicate as of now. status: dead, done or finished (either). Refused where nothing but the status is asked for.
create function inboxd.replay_predicate(provider text, event_type text, status text, received_since text, received_until text,
                                        ended_since text, ended_until text, error text, error_regex text)
returns inboxd.replay_predicate
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    p inboxd.replay_predicate;
begin
    p.status := case coalesce(status, 'dead') when 'dead' then '{3}' when 'done' then '{2}' when 'finished' then '{2,3}' end;
    if p.status is null then
        raise exception using errcode = 'invalid_parameter_value',
            message = format('a status to replay is dead, done or finished (either); not "%s"', status);
    end if;
    if num_nonnulls(provider, event_type, received_since, received_until, ended_since, ended_until, error, error_regex) = 0 then
        raise exception using errcode = 'invalid_parameter_value',
            message = 'replay wants at least one of provider, type, time or error: everything is never meant';
    end if;
    if error_regex is not null then
        perform '' ~ error_regex;  -- a mistake in it is told now
    end if;
    p.provider := provider;
    p.event_type := event_type;
    p.received_since := inboxd.moment(received_since);
    p.received_until := inboxd.moment(received_until);
    p.ended_since := inboxd.moment(ended_since);
    p.ended_until := inboxd.moment(ended_until);
    p.error := error;
    p.error_regex := error_regex;
    p.as_of := clock_timestamp();
    return p;
end $$;

create function inboxd.replay_fits(p inboxd.replay_predicate, o inboxd.outcome) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select o.status = any (p.status)
       and o.processed_at <= p.as_of
       and (p.provider is null or o.provider = p.provider)
       and (p.ended_since is null or o.processed_at >= p.ended_since)
       and (p.ended_until is null or o.processed_at < p.ended_until)
       and (p.error is null or strpos(o.last_error, p.error) > 0)
       and (p.error_regex is null or o.last_error ~ p.error_regex)
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

-- One page of what fits, by id: dead ones are few and have an index, so that they are one page; of done ones the next
-- max_rows outcomes above after_id are looked at. next_id: where to go on; null: the end.
create function inboxd.replay_find(p inboxd.replay_predicate, after_id bigint default 0, max_rows int default 20000)
returns table (ids bigint[], next_id bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    seen bigint;
begin
    if p.status = '{3}' then
        select array_agg(o.id order by o.id) into ids from inboxd.outcome o
         where o.status = 3 and o.id > after_id and inboxd.replay_fits(p, o);
    else
        select array_agg(o.id order by o.id) filter (where inboxd.replay_fits(p, o)), max(o.id), count(*)
          into ids, next_id, seen
          from (select * from inboxd.outcome u where u.id > after_id order by u.id limit max_rows) o;
        if seen < max_rows then
            next_id := null;
        end if;
    end if;
    ids := coalesce(ids, '{}');
    return next;
end $$;

-- Begins a command: its row in audit, whose number the batches want.
create function inboxd.replay_begin(p inboxd.replay_predicate, fitting bigint, why text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    command bigint;
begin
    insert into inboxd.audit (action, provider, detail, why, counts)
    values ('replay_where', p.provider, jsonb_strip_nulls(to_jsonb(p))::text, nullif(why, ''),
            jsonb_build_object('found', fitting, 'replayed', 0, 'gone', 0, 'changed', 0))
    returning number into command;
    return command;
end $$;

-- Runs these events again, as replay(id) does, if they still fit. gone: those whose content is gone; they stay as they are,
-- as do those that somebody else was faster with (changed). The lanes first, as everybody; then the outcomes are locked, in
-- their order, and only then the contents are looked for: that order makes a purge at the same time harmless.
create function inboxd.replay_batch(command bigint, p inboxd.replay_predicate, ids bigint[])
returns table (replayed bigint, gone bigint[], changed bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    providers text[];
    keys      text[];
    mine      bigint[];
    present   bigint[];
begin
    perform from inboxd.audit a
      where a.number = command and a.action = 'replay_where' and a.who = session_user for update;
    if not found then
        raise exception using errcode = 'no_data_found', message = format('you have begun no replay with number %s', command);
    end if;
    select array_agg(o.id), array_agg(o.provider), array_agg(inboxd.lane_for(o.provider, c.ordering_key))
      into mine, providers, keys
      from inboxd.outcome o
      left join lateral (select e.ordering_key from inboxd.event_content e where e.id = o.id limit 1) c on true
     where o.id = any (ids);
    perform inboxd.ready_lanes(providers, keys);
    with keyed as materialized (
        select k.id, k.key from unnest(mine, keys) as k (id, key)
    ), locked as materialized (
        select o.id, k.key from inboxd.outcome o join keyed k on k.id = o.id
         where inboxd.replay_fits(p, o)
         order by o.id for update of o
    )
    select coalesce(array_agg(l.id), '{}'), array_agg(l.key) into mine, keys from locked l;
    select coalesce(array_agg(distinct e.id), '{}') into present from inboxd.event_content e where e.id = any (mine);
    insert into inboxd.attempt_log (id, attempt, at, kind, error)
    select o.id, o.attempt, o.processed_at, 'replay',
           case o.status when 2 then 'was done' else 'was dead: ' || coalesce(o.last_error, '') end
      from inboxd.outcome o where o.id = any (present);
    insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at, lane, aside)
    select o.id, o.provider, case when y.class = 'pull' then 'pull' else 'sql' end, o.attempt, o.attempt, c.event_type,
           c.received_at, k.key, case when k.key is not null then 'retry' end
      from inboxd.outcome o
      join unnest(mine, keys) as k (id, key) on k.id = o.id
      left join inboxd.provider_policy y on y.provider = o.provider
     cross join lateral (select e.event_type, e.received_at from inboxd.event_content e where e.id = o.id limit 1) c
     where o.id = any (present);
    get diagnostics replayed = row_count;
    delete from inboxd.outcome o where o.id = any (present);
    gone := array(select m from unnest(mine) m where m <> all (present) order by m);
    changed := cardinality(ids) - cardinality(mine);
    update inboxd.audit a
       set counts = a.counts || jsonb_build_object('replayed', (a.counts->>'replayed')::bigint + replayed,
                                                   'gone', (a.counts->>'gone')::bigint + cardinality(gone),
                                                   'changed', (a.counts->>'changed')::bigint + changed)
     where a.number = command;
    return next;
end $$;

-- Replay by predicate in one transaction, for psql: at most `most` events (10,000 and fewer), the oldest first. inboxctl
-- replay does any number.
create function inboxd.replay_where(provider text default null, event_type text default null, status text default 'dead',
                                    received_since text default null, received_until text default null,
                                    ended_since text default null, ended_until text default null, error text default null,
                                    error_regex text default null, most int default 1000, dry_run boolean default false,
                                    why text default null)
returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    p     inboxd.replay_predicate := inboxd.replay_predicate(provider, event_type, status, received_since, received_until,
                                                             ended_since, ended_until, error, error_regex);
    ids   bigint[] := '{}';
    page  record;
    after bigint := 0;
    done  record;
begin
    loop
        select f.ids, f.next_id into page from inboxd.replay_find(p, after) f;
        ids := ids || page.ids;
        exit when page.next_id is null or not dry_run and cardinality(ids) > most;
        after := page.next_id;
    end loop;
    if dry_run then
        return format('events that would be replayed: %s', cardinality(ids));
    end if;
    most := least(greatest(most, 0), 10000);
    select * into done
      from inboxd.replay_batch(inboxd.replay_begin(p, least(cardinality(ids), most), why), p, ids[1:most]);
    return format('events replayed: %s', done.replayed)
           || case when cardinality(done.gone) > 0
                   then format('; content is gone of %s: %s', cardinality(done.gone), array_to_string(done.gone[1:10], ', ')) else '' end
           || case when cardinality(ids) > most then '; there are more, call it again' else '' end;
end $$;

revoke execute on function inboxd.replay_begin(inboxd.replay_predicate, bigint, text),
    inboxd.replay_batch(bigint, inboxd.replay_predicate, bigint[]) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant execute on function inboxd.replay_begin(inboxd.replay_predicate, bigint, text),
            inboxd.replay_batch(bigint, inboxd.replay_predicate, bigint[]) to inboxd_ops;
    end if;
end $$;
