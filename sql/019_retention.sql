-- min-daemon: 1
-- Retention of each kind of row with a horizon of its own, and what the purges did, for people.

-- What the daemons' purges last did. One row a kind; horizon null: for ever.
create table inboxd.purge_log (
    kind       text collate "C" primary key
               check (kind in ('done', 'dead', 'attempts', 'ids', 'quarantine', 'audit')),
    horizon    interval,
    ran_at     timestamptz not null default now(),
    removed_at timestamptz,                         -- when it last removed anything
    removed    bigint      not null default 0       -- in all
);

create function inboxd.note_purge(kind text, horizon interval, removed bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into inboxd.purge_log as l (kind, horizon, removed_at, removed)
    values (kind, nullif(horizon, interval '0'), case when removed > 0 then now() end, removed)
        on conflict (kind) do update
       set horizon = excluded.horizon, ran_at = now(), removed_at = coalesce(excluded.removed_at, l.removed_at),
           removed = l.removed + excluded.removed
$$;

-- Gives dead events up that died longer ago than `retain_dead`: they count as finished from then on, with the reason as their
-- last_error, so that `retain` and `retain_ids` end them in turn. Only the daemon of somebody who has set the key calls it.
create function inboxd.purge_dead(retain_dead interval, max_rows int) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    n bigint;
begin
    with old as materialized (
        select o.id, o.attempt, o.last_error from inboxd.outcome o
         where o.status = 3 and o.processed_at < now() - retain_dead
         limit max_rows
           for update skip locked
    ), logged as (
        insert into inboxd.attempt_log (id, attempt, kind, error) select id, attempt, 'discard', last_error from old
    )
    update inboxd.outcome o
       set status = 2, last_error = 'discarded: dead for longer than retain_dead; it died of: ' || coalesce(o.last_error, '')
     where o.id = any (array(select id from old));
    get diagnostics n = row_count;
    return n;
end $$;

-- Deletes attempts of finished events that were made longer ago than `retain_attempts`; those of undone and dead events stay.
-- Looks at up to max_rows of them above the id after_id (all of an id at once); next_id is where to go on, null at the end.
create function inboxd.purge_attempts(retain_attempts interval, max_rows int, after_id bigint default 0)
returns table (deleted bigint, next_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    cutoff timestamptz := now() - retain_attempts;
    seen   bigint;
    eldest timestamptz;
begin
    select max(p.id), count(*), min(p.at) into next_id, seen, eldest
      from (select a.id, a.at from inboxd.attempt_log a where a.id > after_id order by a.id, a.at limit max_rows) p;
    delete from inboxd.attempt_log a
     where a.id > after_id and a.id <= next_id and a.at < cutoff
       and exists (select from inboxd.outcome o where o.id = a.id and o.status = 2)
       and not exists (select from inboxd.work w where w.id = a.id);
    get diagnostics deleted = row_count;
    if seen < max_rows or eldest >= cutoff then
        next_id := null;
    end if;
    return next;
end $$;

create function inboxd.purge_audit(retain_audit interval, max_rows int) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    n bigint;
begin
    delete from inboxd.audit a
     where a.ctid = any (array(select o.ctid from inboxd.audit o where o.at < now() - retain_audit
                                order by o.at limit max_rows for update skip locked));
    get diagnostics n = row_count;
    return n;
end $$;

revoke execute on function inboxd.purge_audit(interval, int), inboxd.purge_dead(interval, int),
    inboxd.purge_attempts(interval, int, bigint), inboxd.note_purge(text, interval, bigint) from public;

-- A row a kind: how long it is kept (horizon; null: for ever), the oldest there is, and what the purges did. Each `oldest` is
-- a look-up in an index.
create view inboxd.retention as
select k.kind, justify_hours(l.horizon) as horizon, k.oldest, now() - k.oldest as oldest_age, l.ran_at, l.removed_at, coalesce(l.removed, 0) as removed
  from (values ('done', (select e.received_at from inboxd.event_store e order by e.id limit 1)),
               ('dead', (select min(o.processed_at) from inboxd.outcome o where o.status = 3)),
               ('attempts', (select a.at from inboxd.attempt_log a order by a.id, a.at limit 1)),
               ('ids', (select i.received_at from inboxd.ledger i order by i.id limit 1)),
               ('quarantine', (select min(q.received_at) from inboxd.quarantine q)),
               ('audit', (select min(a.at) from inboxd.audit a))) as k (kind, oldest)
  left join inboxd.purge_log l on l.kind = k.kind;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select, insert, update on inboxd.purge_log to inboxd_daemon;
        grant select on inboxd.retention to inboxd_daemon;
        grant execute on function inboxd.purge_audit(interval, int), inboxd.purge_dead(interval, int),
            inboxd.purge_attempts(interval, int, bigint), inboxd.note_purge(text, interval, bigint) to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.purge_log, inboxd.retention to inboxd_ops;
    end if;
end $$;
