-- min-daemon: 1
-- What the keeper calls from time to time. Each call is one small transaction; two daemons at once do no harm.

-- Drops at most one partition of event_store in which nothing was received or done within `retain`; undone and dead events
-- are copied to event_kept first. Returns its name and how many were copied; no row: there is none to drop. The caller sets
-- a short lock_timeout, and calls again for the next.
-- The copy is made twice: the bulk while everybody works, then what came since, under the lock. Whoever wants to make an
-- old event undone again (replay) must read its content first, so it is either seen by the second copy, or waits and finds
-- the content gone.
create function inboxd.drop_partitions(retain interval) returns table (partition text, kept bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    cutoff  timestamptz := now() - retain;
    next_id bigint;
    p       record;
    copy    text;
    n       bigint;
begin
    if not pg_try_advisory_xact_lock(1768841848, 3) then
        return;
    end if;
    select s.last_value into next_id from inboxd.event_id_seq s;
    for p in select e.name, e.from_id, e.to_id from inboxd.event_partition e where e.to_id <= next_id order by e.from_id loop
        continue when inboxd.partition_in_use(p.from_id, p.to_id, cutoff);
        copy := format('insert into inboxd.event_kept'
                       ' select e.* from inboxd.%I e'
                       '  where e.id in (select w.id from inboxd.work w where w.id >= %s and w.id < %s'
                       '                 union all'
                       '                 select o.id from inboxd.outcome o where o.status = 3 and o.id >= %2$s and o.id < %3$s)'
                       '    and not exists (select from inboxd.event_kept k where k.id = e.id)'
                       '     on conflict do nothing', p.name, p.from_id, p.to_id);
        execute copy;
        get diagnostics kept = row_count;
        lock table only inboxd.event_store in access exclusive mode;
        continue when inboxd.partition_in_use(p.from_id, p.to_id, cutoff);
        execute copy;
        get diagnostics n = row_count;
        kept := kept + n;
        execute format('drop table inboxd.%I', p.name);
        partition := p.name;
        return next;
        return;
    end loop;
end $$;

-- Whether something of these ids was received or done since `cutoff`.
create function inboxd.partition_in_use(from_id bigint, to_id bigint, cutoff timestamptz) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
    return exists (select from (select e.received_at from inboxd.event_store e
                                 where e.id >= from_id and e.id < to_id order by e.id desc limit 1) last
                    where last.received_at >= cutoff)
        or exists (select from inboxd.outcome o
                    where o.id >= from_id and o.id < to_id and o.status = 2 and o.processed_at >= cutoff);
end $$;

-- Deletes contents of finished events one by one, for partitions that hold younger ones too: those done longer ago than `retain`
-- and a tenth of it, at most a day, more (a partition that is about to be dropped whole needs no deletes). Looks at up to
-- max_rows ids above after_id; next_id is where to go on, null at the end, which is where event_kept gets its turn as well.
create function inboxd.purge_finished(retain interval, max_rows int, after_id bigint default 0)
returns table (deleted bigint, next_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    cutoff  timestamptz := now() - retain - least(retain / 10, interval '1 day');
    last_id bigint;
    seen    bigint;
    youngest timestamptz;
    n       bigint;
begin
    select max(p.id), count(*), max(p.received_at) into last_id, seen, youngest
      from (select e.id, e.received_at from inboxd.event_store e where e.id > after_id order by e.id limit max_rows) p;
    -- Locking the outcome keeps a replay out: it waits here, and then finds the content gone.
    with old as materialized (
        select o.id from inboxd.outcome o
         where o.id > after_id and o.id <= last_id and o.status = 2 and o.processed_at < cutoff
           for update skip locked
    )
    delete from inboxd.event_store e
     where e.id > after_id and e.id <= last_id and e.id = any (array(select id from old));
    get diagnostics deleted = row_count;
    if seen = max_rows and youngest < cutoff then
        next_id := last_id;
    else
        with old as materialized (
            select o.id from inboxd.event_kept k join inboxd.outcome o on o.id = k.id
             where o.status = 2 and o.processed_at < cutoff
             order by k.id limit max_rows
               for update of o skip locked
        )
        delete from inboxd.event_kept k where k.id = any (array(select id from old));
        get diagnostics n = row_count;
        deleted := deleted + n;
    end if;
    return next;
end $$;

-- Forgets identities received longer ago than `retain_ids`, with their outcomes and attempts: a copy that comes after that is a
-- new event. Never those of an undone or dead event, or of one that was done since. Looks at up to max_rows ids above after_id;
-- next_id is where to go on, null at the end.
create function inboxd.purge_ledger(retain_ids interval, max_rows int, after_id bigint default 0)
returns table (deleted bigint, next_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    cutoff timestamptz := now() - retain_ids;
    seen   bigint;
    youngest timestamptz;
begin
    with page as materialized (
        select l.id, l.received_at from inboxd.ledger l where l.id > after_id order by l.id limit max_rows
    ), finished as materialized (
        select o.id from inboxd.outcome o
         where o.id = any (array(select p.id from page p where p.received_at < cutoff))
           and o.status = 2 and o.processed_at < cutoff
           for update skip locked
    ), bare as materialized (   -- with neither work nor outcome
        select p.id from page p
         where p.received_at < cutoff
           and not exists (select from inboxd.outcome o where o.id = p.id)
           and not exists (select from inboxd.work w where w.id = p.id)
    ), forgotten as materialized (
        select array(select id from finished union all select id from bare) as ids
    ), attempts as (
        delete from inboxd.attempt_log a where a.id = any ((select ids from forgotten)::bigint[])
    ), outcomes as (
        delete from inboxd.outcome o where o.id = any ((select ids from forgotten)::bigint[])
    ), identities as (
        delete from inboxd.ledger l where l.id = any ((select ids from forgotten)::bigint[]) returning 1
    )
    select (select count(*) from identities), count(*), max(p.id), max(p.received_at)
      into deleted, seen, next_id, youngest from page p;
    if seen < max_rows or youngest >= cutoff then
        next_id := null;
    end if;
    return next;
end $$;

-- Folds the counters of past minutes into one row a provider and minute, and drops those older than `retain`. Returns how
-- many rows went.
create function inboxd.fold_counters(retain interval default interval '400 days') returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    folded_rows bigint;
    old_rows    bigint;
begin
    if not pg_try_advisory_xact_lock(1768841848, 4) then
        return 0;
    end if;
    with raw as (
        delete from inboxd.counters c where not c.folded and c.minute < date_trunc('minute', now()) - interval '1 minute'
        returning c.*
    ), before as (
        delete from inboxd.counters c
         using (select distinct r.provider, r.minute from raw r) r
         where c.folded and c.provider = r.provider and c.minute = r.minute
        returning c.*
    ), both_kinds as (
        select * from raw union all select * from before
    ), sums as (
        insert into inboxd.counters (provider, minute, stored, duplicate, differing, refused, done, failed, folded)
        select b.provider, b.minute, sum(b.stored), sum(b.duplicate), sum(b.differing), sum(b.refused), sum(b.done),
               sum(b.failed), true
          from both_kinds b group by b.provider, b.minute
        returning 1
    )
    select (select count(*) from both_kinds) - (select count(*) from sums) into folded_rows;
    delete from inboxd.counters c where c.minute < now() - retain;
    get diagnostics old_rows = row_count;
    return folded_rows + old_rows;
end $$;

revoke execute on function inboxd.drop_partitions(interval) from public;
