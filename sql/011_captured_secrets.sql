-- min-daemon: 1
-- Secrets that providers hand over in a handshake (handshake = header-echo, token-capture). They lie here sealed with the
-- daemon's capture_key, and verify requests only after a person has accepted them.

-- A row a secret, history included; a rejected one has lost its content. The daemon inserts, the functions below decide.
create table inboxd.captured_secret (
    id           bigint generated always as identity primary key,
    provider     text collate "C" not null,
    sealed       bytea,                                   -- null: rejected
    fingerprint  bytea not null,                          -- tells a repeated one; keyed, so that it tells nothing else
    captured_at  timestamptz not null default clock_timestamp(),
    source_ip    text,
    accepted_at  timestamptz,
    accepted_by  text,
    rejected_at  timestamptz,
    rejected_by  text,
    check ((sealed is null) = (rejected_at is not null)),
    check ((accepted_at is null) = (accepted_by is null)),
    check ((rejected_at is null) = (rejected_by is null))
);

-- One slot a provider: taken until what is in it was rejected.
create unique index captured_secret_slot on inboxd.captured_secret (provider) where rejected_at is null;

-- What people may see of them.
create view inboxd.captured_secrets as
select id, provider,
       case when rejected_at is not null then 'rejected' when accepted_at is not null then 'accepted' else 'waiting' end as state,
       captured_at, source_ip, accepted_at, accepted_by, rejected_at, rejected_by
  from inboxd.captured_secret;

-- From now on the secret verifies its provider's requests; the daemons learn of it within seconds.
create function inboxd.secret_accept(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    s inboxd.captured_secret;
begin
    select c.* into s from inboxd.captured_secret c where c.id = secret_accept.id for update;
    if not found then
        raise exception using errcode = 'no_data_found', message = format('there is no captured secret %s', secret_accept.id);
    elsif s.rejected_at is not null then
        raise exception using errcode = 'object_not_in_prerequisite_state',
            message = format('cannot accept secret %s: it was rejected by %s and is gone', s.id, s.rejected_by),
            hint = 'Let the provider begin its handshake anew.';
    elsif s.accepted_at is not null then
        return format('secret %s of %s was accepted already, by %s', s.id, s.provider, s.accepted_by);
    end if;
    update inboxd.captured_secret c
       set accepted_at = clock_timestamp(), accepted_by = session_user
     where c.id = s.id;
    insert into inboxd.audit (action, id, detail) values ('secret_accept', s.id, 'provider ' || s.provider);
    return format('secret %s of %s is accepted', s.id, s.provider);
end $$;

-- The secret is forgotten, and the provider's slot is free for another; an accepted one verifies nothing any more.
create function inboxd.secret_reject(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    s inboxd.captured_secret;
begin
    select c.* into s from inboxd.captured_secret c where c.id = secret_reject.id for update;
    if not found then
        raise exception using errcode = 'no_data_found', message = format('there is no captured secret %s', secret_reject.id);
    elsif s.rejected_at is not null then
        return format('secret %s of %s was rejected already, by %s', s.id, s.provider, s.rejected_by);
    end if;
    update inboxd.captured_secret c
       set sealed = null, rejected_at = clock_timestamp(), rejected_by = session_user
     where c.id = s.id;
    insert into inboxd.audit (action, id, detail)
    values ('secret_reject', s.id, format('provider %s, was %s', s.provider,
                                          case when s.accepted_at is null then 'waiting' else 'accepted' end));
    return format('secret %s of %s is rejected and forgotten', s.id, s.provider);
end $$;

revoke execute on function inboxd.secret_accept(bigint), inboxd.secret_reject(bigint) from public;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select on inboxd.captured_secret to inboxd_daemon;
        grant insert (provider, sealed, fingerprint, source_ip) on inboxd.captured_secret to inboxd_daemon;
        grant select on inboxd.captured_secrets to inboxd_daemon;
    end if;
    -- Not the sealed bytes.
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.captured_secrets to inboxd_ops;
        grant execute on function inboxd.secret_accept(bigint), inboxd.secret_reject(bigint) to inboxd_ops;
    end if;
end $$;
