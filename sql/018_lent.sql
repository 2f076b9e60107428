-- min-daemon: 1
-- A plug-in that is lent a worker's connection must not commit: then the event would be half done. While its row is here, the
-- deferred trigger refuses the commit. The worker deletes the row before it commits, in the same transaction, so that the
-- table is always empty for everybody else.
create unlogged table inboxd.lent (
    id bigint not null
);

create function inboxd.lent_refuse() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from inboxd.lent l where l.id = new.id) then
        raise exception 'a handler must not commit: the transaction is the worker''s to end'
            using errcode = 'IBX05';
    end if;
    return null;
end
$$;

revoke execute on function inboxd.lent_refuse() from public;

create constraint trigger lent_refuse after insert on inboxd.lent
    deferrable initially deferred for each row execute function inboxd.lent_refuse();

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select, insert, delete on inboxd.lent to inboxd_daemon;
    end if;
end $$;
