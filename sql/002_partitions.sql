-- min-daemon: 1
-- Partitions of event_store: ranges of ids, made ahead, dropped whole. The functions belong to the schema's owner
-- (SECURITY DEFINER), so that the daemon needs no right to create or drop tables. The caller sets a short
-- lock_timeout and tries again.

-- The partitions as the catalogue has them: ids from from_id up to but not including to_id.
create view inboxd.event_partition as
select p.from_id, p.to_id, p.name, pg_catalog.pg_total_relation_size(p.relid) as bytes, p.relid
  from (select c.oid as relid, c.relname::text as name,
               (pg_catalog.regexp_match(b.bound, 'FROM \(''?(-?\d+)''?\)'))[1]::bigint as from_id,
               (pg_catalog.regexp_match(b.bound, 'TO \(''?(-?\d+)''?\)'))[1]::bigint as to_id
          from pg_catalog.pg_inherits i
          join pg_catalog.pg_class c on c.oid = i.inhrelid
          cross join lateral (select pg_catalog.pg_get_expr(c.relpartbound, c.oid) as bound) b
         where i.inhparent = 'inboxd.event_store'::pg_catalog.regclass) p
 order by p.from_id;

-- Makes the partition that holds `wanted` unless it is there; returns its end. Two callers at once wait for each
-- other, and the second finds what the first made.
create function inboxd.make_partition_for(wanted bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    size  bigint;
    low   bigint;
    high  bigint;
    found_to bigint;
    name  text;
begin
    select p.to_id into found_to from inboxd.event_partition p where wanted >= p.from_id and wanted < p.to_id;
    if found then
        return found_to;
    end if;
    perform pg_advisory_xact_lock(1768841848, 2);
    select p.to_id into found_to from inboxd.event_partition p where wanted >= p.from_id and wanted < p.to_id;
    if found then
        return found_to;
    end if;
    select s.partition_rows into strict size from inboxd.setting s;
    -- The whole multiple of the size around `wanted`, less what neighbours of another size already cover.
    low := wanted / size * size;
    high := low + size;
    select greatest(low, max(p.to_id) filter (where p.to_id <= wanted)),
           least(high, min(p.from_id) filter (where p.from_id > wanted))
      into low, high from inboxd.event_partition p;
    name := 'event_store_' || low;
    -- The new table is empty, so attaching it scans nothing and needs no CHECK; the parent's lock
    -- (SHARE UPDATE EXCLUSIVE) lets inserts go on.
    execute format('create table inboxd.%I (like inboxd.event_store including defaults including constraints'
                   ' including indexes including storage including compression)', name);
    execute format('alter table inboxd.event_store attach partition inboxd.%I for values from (%s) to (%s)',
                   name, low, high);
    return high;
end $$;

-- Sees to it that the partition of the next id and `ahead` more after it exist; returns how many were made.
create function inboxd.make_partitions(ahead int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    next_id bigint;
    before  bigint;
    after   bigint;
begin
    select s.last_value + case when s.is_called then 1 else 0 end into next_id from inboxd.event_id_seq s;
    select count(*) into before from inboxd.event_partition;
    for i in 0 .. greatest(ahead, 0) loop
        next_id := inboxd.make_partition_for(next_id);
    end loop;
    select count(*) into after from inboxd.event_partition;
    return after - before;
end $$;

revoke execute on function inboxd.make_partition_for(bigint), inboxd.make_partitions(int) from public;

select inboxd.make_partitions(1);
