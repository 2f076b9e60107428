-- min-daemon: 1
-- A cursor for the claims of applications, which keep none themselves: beside an old snapshot (a long report, pg_dump) each claim
-- walked over the index entries of everything that was done before it. And of one key with thousands of events, neither a claim nor
-- a completion reads the others any more.

-- Where the next claim of a provider begins. Rows are only added, and the highest one counts: a row that was updated would gather
-- versions beside an old snapshot like those that the cursor is there to pass by. Nobody waits for anybody. What it says is a hint,
-- so that losing it costs one sweep: unlogged. At most ten rows a second are written, the older ones are taken away.
--   From a tenth of a second after the last row was written on, a claim begins 5 s before the cursor: for what was committed late.
--   Each second one begins before everything: for claims that were rolled back, and whatever else; less often where that takes
-- long, so that it takes at most a twentieth of the time.
create unlogged table inboxd.pull_cursor (
    provider text        collate "C",
    number   bigint,
    token    bigint,                    -- of the claim that wrote it
    run_at   timestamptz not null,      -- events without a key: after these
    id       bigint      not null,
    ready_at timestamptz not null,      -- keys: after these; lane is lane.number
    lane     bigint      not null,
    made_at  timestamptz,
    swept_at timestamptz,
    took     interval,                  -- the last sweep
    primary key (provider, number, token)
);

-- Where a claim that begins now begins. made_at is null: it shall say how far it came, if it came anywhere; swept_at is null: it is
-- a sweep. Times that lie ahead come from a clock that was set back: they count as long past.
create function inboxd.pull_cursor_begin(provider text) returns inboxd.pull_cursor
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    at timestamptz := clock_timestamp();
    c  inboxd.pull_cursor;
begin
    select p.* into c from inboxd.pull_cursor p
     where p.provider = pull_cursor_begin.provider
     order by p.number desc, p.token desc limit 1;
    if not found or not at between c.swept_at and c.swept_at + greatest(interval '1 s', 20 * c.took) then
        return (provider, coalesce(c.number, 0), 0, '-infinity', 0, '-infinity', 0, null, null, null)::inboxd.pull_cursor;
    elsif not at between c.made_at and c.made_at + interval '100 ms' then
        c.run_at := c.run_at - interval '5 s';
        c.ready_at := c.ready_at - interval '5 s';
        c.made_at := null;
    end if;
    return c;
end $$;

-- Writes down how far a claim came that began at `begun` with c. A snapshot that is not of this moment could not take the older
-- rows away without failing: others do.
create function inboxd.pull_cursor_put(c inboxd.pull_cursor, token bigint, begun timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    sweep boolean := c.swept_at is null;
begin
    if current_setting('transaction_isolation') = 'read committed' then
        delete from inboxd.pull_cursor p
         where p.ctid = any (array(
               select o.ctid from inboxd.pull_cursor o
                where o.provider = c.provider and o.number < c.number and o.number >= case when sweep then 0 else c.number - 20 end
                order by o.number, o.token
                limit 100
                  for update skip locked));
    end if;
    c.number := c.number + 1;
    c.token := pull_cursor_put.token;
    c.made_at := clock_timestamp();
    if sweep then
        c.swept_at := c.made_at;
        c.took := c.made_at - begun;
    end if;
    insert into inboxd.pull_cursor select c.*;
end $$;

-- Makes a lane claimable again, whose lock is held; `last`: its event that is settled, and all before it (0: none). As
-- sql/query/lane_next.sql does for daemons.
create or replace function inboxd.free_lane(provider text, key text, last bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    passed   bigint;
    first_at timestamptz;
    aside_at timestamptz;
begin
    select greatest(l.after_id, free_lane.last) into passed
      from inboxd.lane l where l.provider = free_lane.provider and l.key = free_lane.key;
    select w.run_at into first_at from inboxd.work w
     where w.provider = free_lane.provider and w.lane = free_lane.key and w.lane is not null and w.aside is null
       and w.id + 0 > passed
     order by w.id + 0 limit 1;
    select w.run_at into aside_at from inboxd.work w
     where w.provider = free_lane.provider and w.lane = free_lane.key and w.aside is not null
     order by w.run_at, w.id limit 1;
    if first_at is null and aside_at is null then
        delete from inboxd.lane l where l.provider = free_lane.provider and l.key = free_lane.key;
    else
        update inboxd.lane l
           set ready_at = greatest(least(first_at, aside_at), clock_timestamp()), after_id = passed, taken_id = 0,
               taken_alone = false, blocked = coalesce(first_at > clock_timestamp(), false)
         where l.provider = free_lane.provider and l.key = free_lane.key;
    end if;
end $$;

-- Claims at most `n` due events (1 to 1,000) of a provider for `lease` (1 s to 1 day), oldest first; of each ordering key one at a
-- time. Whoever has not completed, failed, postponed or renewed an event within its lease has lost it: it is handed out again, or
-- is dead where its attempts are used up. No row: nothing is due, or the provider is paused. What becomes due in the past (a claim
-- that was rolled back, a commit that took long) may be found a second late (pull_cursor).
create or replace function inboxd.claim(provider text, n int default 1, lease interval default interval '1 minute')
returns table (id bigint, token bigint, attempt int, event_id text, event_type text, ordering_key text,
               received_at timestamptz, headers jsonb, payload jsonb, body bytea)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    policy  inboxd.provider_policy;
    cursor  inboxd.pull_cursor;
    begun   timestamptz;
    fence   bigint;
    claimed bigint[] := '{}';
    keys_first boolean;
    free       int;
    found_ids  bigint[];
    last_at    timestamptz;
    lanes      int;
    nothing    int := 0;    -- keys that were found with nothing due
    mine    record;
    head    record;
begin
    select p.* into policy from inboxd.provider_policy p where p.provider = claim.provider;
    if not found then
        raise exception using errcode = 'no_data_found',
            message = format('no daemon has a provider "%s" in its configuration', claim.provider),
            hint = 'A daemon writes its providers into the database when it starts and when it is reloaded.';
    elsif n is null or n < 1 or n > 1000 then
        raise exception using errcode = 'invalid_parameter_value', message = 'n has to be from 1 to 1000';
    elsif lease is null or lease < interval '1 second' or lease > interval '1 day' then
        raise exception using errcode = 'invalid_parameter_value', message = 'lease has to be from 1 second to 1 day';
    elsif exists (select from inboxd.paused p where p.provider = claim.provider) then
        return;
    end if;
    begun := clock_timestamp();
    cursor := inboxd.pull_cursor_begin(provider);
    fence := nextval('inboxd.token_seq');

    -- Which of the two comes first is drawn, so that a backlog of one never keeps the other from its turn.
    keys_first := policy.class = 'pull' and random() < 0.5;
    for part in 1..2 loop
        free := n - cardinality(claimed) - nothing;
        exit when free < 1;
        if (part = 1) <> keys_first then
            with due as materialized (
                select w.id, w.run_at from inboxd.work w
                 where w.provider = claim.provider and w.class = 'pull' and w.lane is null and not w.suspect and w.run_at <= now()
                   and (w.run_at, w.id) > (cursor.run_at, cursor.id)
                 order by w.run_at, w.id
                 limit free
                   for update skip locked
            )
            select array_agg(d.id order by d.run_at, d.id), max(d.run_at) into found_ids, last_at from due d;
            claimed := claimed || found_ids;
            if cardinality(found_ids) = free then
                cursor.run_at := last_at;
                cursor.id := found_ids[free];
            else
                cursor.run_at := now();     -- nothing else was due
                cursor.id := 0;
            end if;
            continue;
        end if;

        -- Keys: each with the event that stepped aside and is due, else with its first one. Lanes of a provider that is not
        -- pulled are for workers.
        lanes := 0;
        for mine in
            select l.key, l.after_id, l.ready_at, l.number from inboxd.lane l
             where l.provider = claim.provider and l.ready_at <= now() and policy.class = 'pull'
               and (l.ready_at, l.number) > (cursor.ready_at, cursor.lane)
             order by l.ready_at, l.number
             limit free
               for update skip locked
        loop
            lanes := lanes + 1;
            cursor.ready_at := mine.ready_at;
            cursor.lane := mine.number;
            select w.id, w.run_at <= now() as due into head
              from (select a.id, a.run_at from inboxd.work a
                     where a.provider = claim.provider and a.lane = mine.key and a.aside is not null and a.run_at <= now()
                     order by a.run_at, a.id limit 1) w
            union all
            select f.id, f.run_at <= now()
              from (select b.id, b.run_at from inboxd.work b
                     where b.provider = claim.provider and b.lane = mine.key and b.lane is not null and b.aside is null
                       and b.id + 0 > mine.after_id
                     order by b.id + 0 limit 1) f
             limit 1;
            if not found or not head.due then
                nothing := nothing + 1;
                perform inboxd.free_lane(claim.provider, mine.key, 0);
            else
                update inboxd.work w set class = 'pull'     -- from before it was pulled
                 where w.id = head.id and w.class <> 'pull';
                update inboxd.lane l
                   set token = fence, ready_at = now() + lease, taken_id = head.id, taken_alone = true, blocked = false
                 where l.provider = claim.provider and l.key = mine.key;
                claimed := claimed || head.id;
            end if;
        end loop;
        if lanes < free then
            cursor.ready_at := now();
            cursor.lane := 0;
        end if;
    end loop;

    if cursor.swept_at is null or cursor.made_at is null and cardinality(claimed) + nothing > 0 then
        perform inboxd.pull_cursor_put(cursor, fence, begun);
    end if;

    return query
    with old as materialized (
        select w.id, w.lane, w.attempt, w.token, w.last_error, w.attempt - w.attempt_base >= policy.attempts as used_up
          from inboxd.work w where w.id = any (claimed)
    ), started as (
        update inboxd.work w
           set attempt = w.attempt + 1, token = fence, run_at = now() + lease,
               last_error = 'attempt ' || w.attempt + 1 || ' did not finish: its application died, or took longer than the lease'
         where w.id = any (array(select o.id from old o where not o.used_up))
        returning w.id, w.attempt, w.run_at
    ), ended as (
        delete from inboxd.work w where w.id = any (array(select o.id from old o where o.used_up))
        returning w.id, w.attempt, w.last_error
    ), dead as (
        insert into inboxd.outcome (id, provider, status, attempt, last_error)
        select e.id, claim.provider, 3, e.attempt, e.last_error from ended e
    ), logged as (
        insert into inboxd.attempt_log (id, attempt, kind, error)
        select o.id, o.attempt, 'lost', o.last_error from old o where o.token <> 0
        union all
        select e.id, e.attempt, 'dead', e.last_error from ended e
    ), counted as (
        insert into inboxd.counters (provider, minute, failed)
        select claim.provider, date_trunc('minute', now()), count(*) from old o where o.token <> 0 having count(*) > 0
    ), freed as (   -- looked at again at once
        update inboxd.lane l set ready_at = now(), taken_id = 0, taken_alone = false
         where l.provider = claim.provider and l.key = any (array(select o.lane from old o where o.used_up and o.lane is not null))
    )
    select s.id, fence, s.attempt, l.event_id, c.event_type, c.ordering_key, l.received_at, c.headers, c.payload, c.body
      from started s
      join inboxd.ledger l on l.id = s.id
      left join lateral (select e.* from inboxd.event_content e where e.id = s.id limit 1) c on true
     order by s.id;
end $$;

revoke execute on function inboxd.pull_cursor_begin(text), inboxd.pull_cursor_put(inboxd.pull_cursor, bigint, timestamptz) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.pull_cursor to inboxd_ops;
    end if;
end $$;
