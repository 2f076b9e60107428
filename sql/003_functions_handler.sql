-- min-daemon: 1
-- Functions around a handler, which is fn(inboxd.event) returns void, run inside the worker's transaction.

-- Not yet: try again later, without burning an attempt. Raises SQLSTATE IBX01; the detail is the delay in seconds
-- or empty (the provider's `defer` setting). EXCEPTION WHEN OTHERS in a handler would swallow it.
create function inboxd.defer(reason text, delay interval default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'IBX01', message = coalesce(reason, 'deferred'),
        detail = coalesce(extract(epoch from delay)::text, '');
end $$;

-- Never: the event is dead now, without retries. Raises SQLSTATE IBX02.
create function inboxd.reject(reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'IBX02', message = coalesce(reason, 'rejected');
end $$;

-- The event as a handler takes it: select shop.on_event(inboxd.load_event($1, $2)), so that payloads never travel
-- to the client. A generic plan prunes partitions when it starts; custom ones would be planned for every event.
create function inboxd.load_event(id bigint, attempt int) returns inboxd.event
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    e inboxd.event;
begin
    select s.id, s.provider, s.event_id, s.event_type, s.ordering_key, s.received_at, s.headers, s.payload, s.body,
           load_event.attempt
      into e from inboxd.event_store s where s.id = load_event.id;
    if not found then
        select k.id, k.provider, k.event_id, k.event_type, k.ordering_key, k.received_at, k.headers, k.payload,
               k.body, load_event.attempt
          into e from inboxd.event_kept k where k.id = load_event.id;
        if not found then
            raise exception using errcode = 'IBX02', message = 'the content of event ' || load_event.id || ' is gone';
        end if;
    end if;
    return e;
end $$;
