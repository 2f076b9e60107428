-- min-daemon: 1
-- What was refused, and duplicates with other bytes than the first delivery: kept within bounds, so that an operator can release
-- it once the secret is mended. docs/quarantine.md.

create table inboxd.quarantine_store (
    id          bigint                generated always as identity primary key,
    provider    text collate "C"      not null,
    received_at timestamptz           not null,
    reason      text                  not null,
    source_ip   inet,
    method      text,                               -- null: not known, of a different duplicate
    target      text,                               -- the same; made safe for people
    headers     jsonb                 not null,     -- the same, as stored events have them
    head        bytea,                              -- the exact request line and headers, a line each; a NUL stands for a credential
    salt        bytea,                              -- of the row
    concealed   bytea,                              -- for each NUL, 32 bytes: SHA-256 of salt and credential
    body        bytea compression lz4,
    body_sha256 bytea                 not null,
    bytes       bigint                not null,     -- what the row counts for
    released_at timestamptz,                        -- an operator wants it in the inbox
    released_by text,
    unverified  boolean               not null default false,  -- whatever its signature
    outcome     text check (outcome in ('stored', 'duplicate', 'refused')),  -- of the release; null: no daemon has tried yet
    result      text,                               -- of the release, for people
    settled_at  timestamptz,
    event       bigint                              -- the stored event, or the one that this is a duplicate of
);
alter table inboxd.quarantine_store alter column headers set compression lz4, alter column head set compression lz4;
create index quarantine_provider on inboxd.quarantine_store (provider, id);
create index quarantine_received on inboxd.quarantine_store (received_at);
create index quarantine_marked   on inboxd.quarantine_store (released_at, id) where released_at is not null and outcome is null;

-- Where a request came from, as far as bounds go: an IPv4 address or an IPv6 /64.
create function inboxd.quarantine_source(ip inet) returns cidr
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select network(set_masklen(ip, case family(ip) when 6 then 64 else 32 end))
$$;

-- What was refused and is kept, for people. Credentials are not in it.
create view inboxd.quarantine as
select id, provider, received_at, reason, source_ip, method, target, headers, body, body_sha256, bytes,
       case when outcome is not null then outcome when released_at is not null then 'marked' else 'kept' end as state,
       released_at, released_by, unverified, result, settled_at, event
  from inboxd.quarantine_store;

alter table inboxd.counters
    add column quarantined        bigint not null default 0,  -- refused requests that were kept
    add column quarantine_dropped bigint not null default 0;  -- that were not, for want of room

-- Drops what is beyond the bounds of a provider, the newest of the noisiest source first: of all sources that fit in, each has
-- as much as the others or all that it sent. What nobody has wanted for three days gives way to what is younger (else a slow
-- drizzle from many sources would take all the room for good), and both to what can be done without: what was released, and
-- different duplicates. What is about to be released stays. Returns how many rows went.
create function inboxd.trim_quarantine(provider text, max_rows int, max_bytes bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    n bigint;
begin
    -- Two daemons at once would each see its own rows only.
    perform pg_advisory_xact_lock(1768841849, hashtext(provider));
    with ranked as materialized (
        select c.id, c.bytes, c.class, row_number() over w as nth, sum(c.bytes) over w as upto
          from (select q.id, q.bytes, q.source_ip,
                       case when q.outcome in ('stored', 'duplicate') or q.reason = 'different duplicate' then 2
                            when q.received_at < now() - interval '3 days' then 1 else 0 end as class
                  from inboxd.quarantine_store q
                 where q.provider = trim_quarantine.provider) c
        window w as (partition by c.class, inboxd.quarantine_source(c.source_ip) order by c.id)
    ), by_rows as materialized (
        select r.*, row_number() over (order by r.class, r.nth, r.id) as place from ranked r
    ), by_bytes as materialized (
        select r.id, sum(r.bytes) over (order by r.class, r.upto, r.id) as total from by_rows r where r.place <= max_rows
    ), beyond as materialized (
        select r.id from by_rows r where r.place > max_rows
        union all
        select b.id from by_bytes b where b.total > max_bytes
    )
    delete from inboxd.quarantine_store q
     where q.id = any (array(select b.id from beyond b))
       and (q.released_at is null or q.outcome is not null);
    get diagnostics n = row_count;
    if n > 0 then
        insert into inboxd.counters (provider, minute, quarantine_dropped)
        values (trim_quarantine.provider, date_trunc('minute', now()), n);
    end if;
    return n;
end $$;

-- Deletes what was received longer ago than `retain`, at most max_rows of it. Returns how many rows went.
create function inboxd.purge_quarantine(retain interval, max_rows int) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    n bigint;
begin
    delete from inboxd.quarantine_store q
     where q.id = any (array(select o.id from inboxd.quarantine_store o where o.received_at < now() - retain
                              order by o.received_at limit max_rows for update skip locked));
    get diagnostics n = row_count;
    return n;
end $$;

-- For operators: wants a refused request in the inbox after all. Only marks it: a daemon, which has the secrets, verifies it
-- again without regard to its time and stores it; `unverified`: whatever its signature. Harmless to repeat.
create function inboxd.release(quarantine_id bigint, unverified boolean default false) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    q record;
begin
    select s.reason, s.outcome, s.result, s.event, s.released_at is not null as marked
      into q from inboxd.quarantine_store s where s.id = quarantine_id for update;
    if not found then
        raise exception using errcode = 'no_data_found', message = format('there is no refused request %s', quarantine_id);
    elsif q.reason = 'different duplicate' then
        raise exception using errcode = 'object_not_in_prerequisite_state',
            message = format('cannot release %s: it was verified, and its id is taken by event %s', quarantine_id, q.event),
            hint = 'Compare the two; what has to be done is done in your own tables.';
    elsif q.outcome in ('stored', 'duplicate') then
        return format('%s was released before: %s', quarantine_id, q.result);
    end if;
    update inboxd.quarantine_store s
       set released_at = now(), released_by = session_user, unverified = release.unverified,
           outcome = null, result = null, settled_at = null
     where s.id = quarantine_id;
    insert into inboxd.audit (action, id, detail)
    values (case when release.unverified then 'release unverified' else 'release' end, quarantine_id, q.reason);
    return format('%s is marked, a daemon takes it from here', quarantine_id);
end $$;

-- For operators: forgets a refused request.
create function inboxd.drop_quarantined(quarantine_id bigint, why text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from inboxd.quarantine_store q
     where q.id = any (array(select s.id from inboxd.quarantine_store s where s.id = quarantine_id for update skip locked));
    if not found then
        if exists (select from inboxd.quarantine_store s where s.id = quarantine_id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot drop %s: a daemon is releasing it now', quarantine_id);
        end if;
        raise exception using errcode = 'no_data_found', message = format('there is no refused request %s', quarantine_id);
    end if;
    insert into inboxd.audit (action, id, detail) values ('drop_quarantined', quarantine_id, why);
    return format('%s is dropped', quarantine_id);
end $$;

revoke execute on function inboxd.release(bigint, boolean), inboxd.drop_quarantined(bigint, text) from public;

-- As before, with the new counters.
create or replace function inboxd.fold_counters(retain interval default interval '400 days') returns bigint
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
        insert into inboxd.counters (provider, minute, stored, duplicate, differing, refused, done, failed, quarantined,
                                     quarantine_dropped, folded)
        select b.provider, b.minute, sum(b.stored), sum(b.duplicate), sum(b.differing), sum(b.refused), sum(b.done),
               sum(b.failed), sum(b.quarantined), sum(b.quarantine_dropped), true
          from both_kinds b group by b.provider, b.minute
        returning 1
    )
    select (select count(*) from both_kinds) - (select count(*) from sums) into folded_rows;
    delete from inboxd.counters c where c.minute < now() - retain;
    get diagnostics old_rows = row_count;
    return folded_rows + old_rows;
end $$;

create or replace view inboxd.throughput as
select provider, minute, sum(stored)::bigint as stored, sum(duplicate)::bigint as duplicate,
       sum(refused)::bigint as refused, sum(done)::bigint as done, sum(failed)::bigint as failed,
       sum(quarantined)::bigint as quarantined, sum(quarantine_dropped)::bigint as quarantine_dropped
  from inboxd.counters
 where minute > now() - interval '1 hour'
 group by provider, minute
 order by minute desc, provider;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select, insert, update, delete on inboxd.quarantine_store to inboxd_daemon;
        grant select on inboxd.quarantine to inboxd_daemon;
    end if;
    -- The exact heads and the hashes are the daemon's alone.
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.quarantine to inboxd_ops;
        grant execute on function inboxd.release(bigint, boolean), inboxd.drop_quarantined(bigint, text) to inboxd_ops;
    end if;
end $$;
