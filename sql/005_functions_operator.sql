-- min-daemon: 1
-- Functions for operators. Each runs with the rights of the schema's owner and records who called it (audit).

-- Runs an event again now: a dead or done one gets a new work row, its attempt numbers go on and the bound counts anew;
-- an undone one that waits becomes due. Refused where it runs at this moment, and where its content is gone.
-- The outcome goes first and the content is looked for after: that order makes a purge at the same time harmless.
create function inboxd.replay(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    old  inboxd.outcome;
    ev   record;
    wait record;
begin
    delete from inboxd.outcome o where o.id = replay.id returning o.* into old;
    if found then
        select c.event_type, c.received_at into ev from inboxd.event_content c where c.id = replay.id limit 1;
        if not found then
            raise exception using errcode = 'no_data_found',
                message = format('cannot replay event %s: its content is gone', replay.id),
                hint = 'Contents are kept for `retain` after an event is done; the sender may still be able to resend it.';
        end if;
        insert into inboxd.attempt_log (id, attempt, at, kind, error)
        values (replay.id, old.attempt, old.processed_at, 'replay',
                case old.status when 2 then 'was done' else 'was dead: ' || coalesce(old.last_error, '') end);
        insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at)
        values (replay.id, old.provider, 'sql', old.attempt, old.attempt, ev.event_type, ev.received_at);
        insert into inboxd.audit (action, id, detail)
        values ('replay', replay.id, case old.status when 2 then 'was done' else 'was dead' end);
        return format('event %s was %s and is due now; attempts so far: %s', replay.id,
                      case old.status when 2 then 'done' else 'dead' end, old.attempt);
    end if;
    select w.run_at, w.run_at > now() as waits into wait from inboxd.work w where w.id = replay.id for update skip locked;
    if not found then
        if exists (select from inboxd.work w where w.id = replay.id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot replay event %s: it is being processed now', replay.id);
        end if;
        raise exception using errcode = 'no_data_found', message = format('there is no event %s', replay.id);
    end if;
    if not wait.waits then
        return format('event %s is due already', replay.id);
    end if;
    update inboxd.work w set run_at = now() where w.id = replay.id;
    insert into inboxd.audit (action, id, detail) values ('replay', replay.id, 'was waiting until ' || wait.run_at);
    return format('event %s was waiting and is due now', replay.id);
end $$;

-- Replays the dead events of a provider (null: of all), dead since `since` (null: ever), whose error is like the pattern
-- (null: any). Returns how many. Dead events never lose their content.
create function inboxd.replay_dead(provider text, since timestamptz default null, error_like text default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    n bigint;
begin
    with old as (
        delete from inboxd.outcome o
         where o.status = 3
           and (replay_dead.provider is null or o.provider = replay_dead.provider)
           and (since is null or o.processed_at >= since)
           and (error_like is null or o.last_error like error_like)
        returning o.id, o.provider, o.attempt, o.last_error, o.processed_at
    ), logged as (
        insert into inboxd.attempt_log (id, attempt, at, kind, error)
        select o.id, o.attempt, o.processed_at, 'replay', 'was dead: ' || coalesce(o.last_error, '') from old o
    ), again as (
        insert into inboxd.work (id, provider, class, attempt, attempt_base, event_type, received_at)
        select o.id, o.provider, 'sql', o.attempt, o.attempt,
               (select c.event_type from inboxd.event_content c where c.id = o.id limit 1), l.received_at
          from old o join inboxd.ledger l on l.id = o.id
        returning 1
    )
    select count(*) into n from again;
    insert into inboxd.audit (action, detail)
    values ('replay_dead', format('%s events; provider %L, since %L, error like %L', n, provider, since, error_like));
    return n;
end $$;

-- Gives an undone or dead event up: it counts as finished, with the reason as its last_error, and is not among
-- processed_events. Its identity stays, so that a resent copy is still a duplicate.
create function inboxd.discard(id bigint, why text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    reason text := 'discarded: ' || coalesce(nullif(why, ''), 'no reason given');
    was    text;
    w      inboxd.work;
    o      inboxd.outcome;
begin
    delete from inboxd.work d
     where d.id = any (array(select s.id from inboxd.work s where s.id = discard.id for update skip locked))
    returning d.* into w;
    if found then
        insert into inboxd.outcome (id, provider, status, attempt, last_error)
        values (w.id, w.provider, 2, w.attempt, reason);
        was := w.last_error;
    else
        if exists (select from inboxd.work s where s.id = discard.id) then
            raise exception using errcode = 'object_in_use',
                message = format('cannot discard event %s: it is being processed now', discard.id);
        end if;
        select u.* into o from inboxd.outcome u where u.id = discard.id for update;
        if not found then
            raise exception using errcode = 'no_data_found', message = format('there is no event %s', discard.id);
        elsif o.status = 2 then
            raise exception using errcode = 'object_not_in_prerequisite_state',
                message = format('cannot discard event %s: it is done', discard.id);
        end if;
        update inboxd.outcome u
           set status = 2, last_error = reason, processed_at = statement_timestamp()
         where u.id = discard.id;
        was := o.last_error;
    end if;
    insert into inboxd.attempt_log (id, attempt, kind, error) values (discard.id, coalesce(w.attempt, o.attempt), 'discard', was);
    insert into inboxd.audit (action, id, detail) values ('discard', discard.id, why);
    return format('event %s is discarded', discard.id);
end $$;

revoke execute on function inboxd.replay(bigint), inboxd.replay_dead(text, timestamptz, text),
    inboxd.discard(bigint, text) from public;
