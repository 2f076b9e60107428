-- min-daemon: 1
-- The pull API: for providers with `on = pull`, applications in any language claim events and say how they ended.
-- docs/pull-api.md. Each function is one transaction of its own, or part of the caller's; all run with the rights of the schema's
-- owner, so that an application needs nothing but EXECUTE.
--
-- A claim is a lease: run_at is its end, the token fences what its holder says later. An attempt counts when it is claimed, so
-- that one which kills its application is counted too. An event with an order holds its lane as long as its lease.

-- What is said of events that are not under this lease, or whose lease is over and taken by somebody else, changes nothing.

-- Makes a lane claimable again, whose lock is held; `last`: its event that is settled, and all before it (0: none). As
-- sql/query/lane_next.sql does for daemons.
create function inboxd.free_lane(provider text, key text, last bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    passed   bigint;
    first_at timestamptz;
    aside_at timestamptz;
begin
    select greatest(l.after_id, free_lane.last) into passed
      from inboxd.lane l where l.provider = free_lane.provider and l.key = free_lane.key;
    select w.run_at into first_at from inboxd.work w
     where w.provider = free_lane.provider and w.lane = free_lane.key and w.lane is not null and w.aside is null and w.id > passed
     order by w.id limit 1;
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
-- is dead where its attempts are used up. No row: nothing is due, or the provider is paused.
create function inboxd.claim(provider text, n int default 1, lease interval default interval '1 minute')
returns table (id bigint, token bigint, attempt int, event_id text, event_type text, ordering_key text,
               received_at timestamptz, headers jsonb, payload jsonb, body bytea)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    policy  inboxd.provider_policy;
    fence   bigint;
    claimed bigint[];
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
    fence := nextval('inboxd.token_seq');

    with due as materialized (
        select w.id from inboxd.work w
         where w.provider = claim.provider and w.class = 'pull' and w.lane is null and not w.suspect and w.run_at <= now()
         order by w.run_at, w.id
         limit claim.n
           for update skip locked
    )
    select array_agg(d.id) into claimed from due d;

    -- Keys: each with the event that stepped aside and is due, else with its first one. Lanes of a provider that is not
    -- pulled are for workers.
    for mine in
        select l.key, l.after_id from inboxd.lane l
         where l.provider = claim.provider and l.ready_at <= now() and policy.class = 'pull'
         order by l.ready_at, l.number
         limit greatest(0, claim.n - coalesce(cardinality(claimed), 0))
           for update skip locked
    loop
        select w.id, w.run_at <= now() as due into head
          from (select a.id, a.run_at from inboxd.work a
                 where a.provider = claim.provider and a.lane = mine.key and a.aside is not null and a.run_at <= now()
                 order by a.run_at, a.id limit 1) w
        union all
        select f.id, f.run_at <= now()
          from (select b.id, b.run_at from inboxd.work b
                 where b.provider = claim.provider and b.lane = mine.key and b.lane is not null and b.aside is null
                   and b.id > mine.after_id
                 order by b.id limit 1) f
         limit 1;
        if not found or not head.due then
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

-- Locks what is under the lease, its lane first, as everybody; null: it is not.
create function inboxd.pulled(id bigint, token bigint) returns inboxd.work
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    w inboxd.work;
begin
    perform from inboxd.lane l
       join inboxd.work k on k.provider = l.provider and k.lane = l.key
      where k.id = pulled.id and k.class = 'pull' and l.token = pulled.token
        for update of l;
    select k.* into w from inboxd.work k
     where k.id = pulled.id and k.token = pulled.token and k.class = 'pull' and k.token <> 0
       and (k.lane is null or exists (select from inboxd.lane l
                                       where l.provider = k.provider and l.key = k.lane and l.token = pulled.token
                                         and l.taken_id = k.id))
       for update;
    return w;
end $$;

-- The event is done. False: the lease was lost, somebody else has it or had it, and nothing changes. In the transaction of the
-- application's own effects on this database both commit together: exactly once. Then roll back where it is false.
create function inboxd.complete(id bigint, token bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w inboxd.work := inboxd.pulled(id, token);
begin
    if w.id is null then
        return false;
    end if;
    delete from inboxd.work k where k.id = w.id;
    insert into inboxd.outcome (id, provider, status, attempt) values (w.id, w.provider, 2, w.attempt);
    insert into inboxd.counters (provider, minute, done) values (w.provider, date_trunc('minute', now()), 1);
    if w.lane is not null then
        update inboxd.work k set run_at = now()     -- what waited for something to happen to this key
         where k.provider = w.provider and k.lane = w.lane and k.aside = 'defer' and k.run_at > now();
        perform inboxd.free_lane(w.provider, w.lane, case when w.aside is null then w.id else 0 end);
    end if;
    return true;
end $$;

-- The same for several; how many were still ours. (A name of its own: drivers that send parameters without a type could not
-- tell the two apart.) Their lanes are locked in the order in which everybody locks several.
create function inboxd.complete_many(ids bigint[], tokens bigint[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    done bigint;
begin
    perform from inboxd.lane l
       join inboxd.work w on w.provider = l.provider and w.lane = l.key
       join unnest(ids, tokens) as u (id, token) on u.id = w.id and u.token = l.token
      order by l.provider, l.key
        for update of l;
    select count(*) filter (where inboxd.complete(u.id, u.token)) into done from unnest(ids, tokens) as u (id, token);
    return done;
end $$;

-- The end of a row that is locked: out of `work`, into `outcome` as dead.
create function inboxd.pull_dead(w inboxd.work, error text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    delete from inboxd.work k where k.id = w.id;
    insert into inboxd.outcome (id, provider, status, attempt, last_error) values (w.id, w.provider, 3, w.attempt, error);
    insert into inboxd.attempt_log (id, attempt, kind, error) values (w.id, w.attempt, 'dead', error);
    insert into inboxd.counters (provider, minute, failed) values (w.provider, date_trunc('minute', now()), 1);
    if w.lane is not null then
        perform inboxd.free_lane(w.provider, w.lane, case when w.aside is null then w.id else 0 end);
    end if;
end $$;

-- The text that is stored, at most about 8 KB.
create function inboxd.cut_error(error text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select case when octet_length(error) > 8192
                then left(error, 2000) || ' [cut, ' || octet_length(error) || ' bytes in all]'
                else coalesce(nullif(error, ''), 'failed without a reason') end
$$;

-- The attempt failed: tried again after the provider's `backoff`, dead when its `attempts` are used up, or at once where it is
-- `permanent`. Returns 'retry' or 'dead'; null: the lease was lost, and nothing changes.
create function inboxd.fail(id bigint, token bigint, error text, permanent boolean default false) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w        inboxd.work := inboxd.pulled(id, token);
    policy   inboxd.provider_policy;
    failures int;
    seconds  float8;
begin
    if w.id is null then
        return null;
    end if;
    select p.* into policy from inboxd.provider_policy p where p.provider = w.provider;
    failures := w.attempt - w.attempt_base;
    if permanent or failures >= policy.attempts then
        perform inboxd.pull_dead(w, inboxd.cut_error(error));
        return 'dead';
    end if;
    if policy.backoff_steps is not null then
        seconds := extract(epoch from policy.backoff_steps[least(failures, cardinality(policy.backoff_steps))]);
    else
        seconds := random() * least(extract(epoch from policy.backoff_cap)::float8,
                                    extract(epoch from policy.backoff_base)::float8 * power(2::float8, least(failures - 1, 62)));
    end if;
    update inboxd.work k
       set token = 0, run_at = now() + seconds * interval '1 second', last_error = inboxd.cut_error(error),
           aside = case when k.lane is null then null when policy."order" = 'strict' then k.aside else 'retry' end
     where k.id = w.id;
    insert into inboxd.attempt_log (id, attempt, kind, error) values (w.id, w.attempt, 'retry', inboxd.cut_error(error));
    insert into inboxd.counters (provider, minute, failed) values (w.provider, date_trunc('minute', now()), 1);
    if w.lane is not null then
        perform inboxd.free_lane(w.provider, w.lane, case when w.aside is null and policy."order" <> 'strict' then w.id else 0 end);
    end if;
    return 'retry';
end $$;

-- Not yet, or not by me: the attempt does not count. Tried again after `delay` (null: the provider's `defer`), and as soon as
-- another event of its key is done; dead with the reason when it was postponed for longer than `defer_limit` in all. Returns
-- 'defer' or 'dead'; null: the lease was lost, and nothing changes.
create function inboxd.postpone(id bigint, token bigint, reason text, delay interval default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w      inboxd.work := inboxd.pulled(id, token);
    policy inboxd.provider_policy;
    since  timestamptz;
begin
    if w.id is null then
        return null;
    end if;
    select p.* into policy from inboxd.provider_policy p where p.provider = w.provider;
    since := coalesce(w.deferred_since, now());
    if now() - since >= policy.defer_limit then
        perform inboxd.pull_dead(w, format('deferred for longer than defer_limit (%s s): %s',
                                           trim_scale(extract(epoch from policy.defer_limit)), inboxd.cut_error(reason)));
        return 'dead';
    end if;
    update inboxd.work k
       set token = 0, attempt = k.attempt - 1, deferred_since = since, last_error = inboxd.cut_error(reason),
           run_at = now() + least(greatest(coalesce(delay, policy.defer), interval '0'), since + policy.defer_limit - now()),
           aside = case when k.lane is not null then 'defer' end
     where k.id = w.id;
    insert into inboxd.attempt_log (id, attempt, kind, error) values (w.id, w.attempt, 'defer', inboxd.cut_error(reason));
    if w.lane is not null then
        perform inboxd.free_lane(w.provider, w.lane, case when w.aside is null then w.id else 0 end);
    end if;
    return 'defer';
end $$;

-- The work goes on: the lease lasts `lease` from now. Returns its new end; null: it was lost, stop working.
create function inboxd.renew(id bigint, token bigint, lease interval default interval '1 minute') returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w inboxd.work := inboxd.pulled(id, token);
begin
    if lease is null or lease < interval '1 second' or lease > interval '1 day' then
        raise exception using errcode = 'invalid_parameter_value', message = 'lease has to be from 1 second to 1 day';
    elsif w.id is null then
        return null;
    end if;
    update inboxd.work k set run_at = now() + lease where k.id = w.id;
    if w.lane is not null then
        update inboxd.lane l set ready_at = now() + lease where l.provider = w.provider and l.key = w.lane;
    end if;
    return now() + lease;
end $$;

revoke execute on function inboxd.claim(text, int, interval), inboxd.complete(bigint, bigint),
    inboxd.complete_many(bigint[], bigint[]), inboxd.fail(bigint, bigint, text, boolean),
    inboxd.postpone(bigint, bigint, text, interval), inboxd.renew(bigint, bigint, interval),
    inboxd.pulled(bigint, bigint), inboxd.pull_dead(inboxd.work, text), inboxd.free_lane(text, text, bigint) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_app') then
        grant execute on function inboxd.claim(text, int, interval), inboxd.complete(bigint, bigint),
            inboxd.complete_many(bigint[], bigint[]), inboxd.fail(bigint, bigint, text, boolean),
            inboxd.postpone(bigint, bigint, text, interval), inboxd.renew(bigint, bigint, interval) to inboxd_app;
    end if;
end $$;
