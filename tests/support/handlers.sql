-- Handlers of the tests, in schema t of every test database. effect has no unique index, so that a double run shows.

create schema t;

create table t.effect (
    provider text not null,
    event_id text not null,
    at       timestamptz not null default clock_timestamp()
);

create function t.ok(e inboxd.event) returns void language sql as $$
    insert into t.effect (provider, event_id) values (e.provider, e.event_id)
$$;

-- Sleeps payload->>'s' seconds, then has its effect.
create function t.sleep(e inboxd.event) returns void language plpgsql as $$
begin
    perform pg_sleep((e.payload ->> 's')::float8);
    insert into t.effect (provider, event_id) values (e.provider, e.event_id);
end
$$;

-- Raises payload->>'msg' after an effect, which must never be seen.
create function t.fail(e inboxd.event) returns void language plpgsql as $$
begin
    insert into t.effect (provider, event_id) values (e.provider, e.event_id);
    raise exception '%', e.payload ->> 'msg';
end
$$;

-- Fails while payload->>'fail_below' is above the attempt's number, then has its effect.
create function t.flaky(e inboxd.event) returns void language plpgsql as $$
begin
    if e.attempt < (e.payload ->> 'fail_below')::int then
        raise exception 'attempt % fails', e.attempt;
    end if;
    insert into t.effect (provider, event_id) values (e.provider, e.event_id);
end
$$;

-- Dead at once, with payload->>'why'.
create function t.reject(e inboxd.event) returns void language plpgsql as $$
begin
    perform inboxd.reject(e.payload ->> 'why');
end
$$;

-- Ends its own backend where payload holds "crash", else has its effect.
create function t.crash(e inboxd.event) returns void language plpgsql as $$
begin
    if e.payload ? 'crash' then
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(10);
    end if;
    insert into t.effect (provider, event_id) values (e.provider, e.event_id);
end
$$;

-- Waits for the advisory lock payload->>'lock' (a test holds it), then has its effect.
create function t.gate(e inboxd.event) returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared((e.payload ->> 'lock')::bigint);
    insert into t.effect (provider, event_id) values (e.provider, e.event_id);
end
$$;

grant usage on schema t to public;
grant select, insert on t.effect to public;
