-- min-daemon: 1
-- An empty text is no predicate: `inboxctl replay --error "$UNSET"` would run everything again that is dead.

-- A predicate as of now. status: dead, done or finished (either). Refused where nothing but the status is asked for, and
-- where a text is empty.
create or replace function inboxd.replay_predicate(provider text, event_type text, status text, received_since text, received_until text,
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
    if '' = any (array[provider, event_type, received_since, received_until, ended_since, ended_until, error, error_regex]) then
        raise exception using errcode = 'invalid_parameter_value',
            message = 'replay wants no empty text: one in error or error_regex would mean everything',
            hint = 'Leave out what is not asked for.';
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
