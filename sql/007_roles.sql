-- min-daemon: 1
-- Roles without login; grant them to the roles that people and programs log in as.
--   inboxd_daemon  what the daemon needs: rows, no DDL
--   inboxd_ops     views and operator functions: no payload is writable, no table either
--   inboxd_app     applications: nothing yet but the way in
-- Roles belong to the whole cluster: they may be there already, or not be ours to make. Then the grants that are not possible
-- are left out with a notice, and the schema's owner can do everything.

do $$
declare
    role text;
begin
    foreach role in array array['inboxd_daemon', 'inboxd_ops', 'inboxd_app'] loop
        if exists (select from pg_catalog.pg_roles r where r.rolname = role) then
            continue;
        end if;
        begin
            execute format('create role %I nologin', role);
        exception
            when duplicate_object or unique_violation then
                null;  -- somebody else made it at this moment
            when insufficient_privilege then
                raise notice 'role % is not made: %', role, sqlerrm;
        end;
    end loop;

    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant usage on schema inboxd to inboxd_daemon;
        grant select, insert, update, delete on all tables in schema inboxd to inboxd_daemon;
        revoke insert, update, delete on inboxd.schema_migration, inboxd.setting, inboxd.audit from inboxd_daemon;
        grant usage, select on all sequences in schema inboxd to inboxd_daemon;
        grant execute on all functions in schema inboxd to inboxd_daemon;
        revoke execute on function inboxd.replay(bigint), inboxd.replay_dead(text, timestamptz, text),
            inboxd.discard(bigint, text) from inboxd_daemon;
    end if;

    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant usage on schema inboxd to inboxd_ops;
        grant select on all tables in schema inboxd to inboxd_ops;
        grant execute on function inboxd.replay(bigint), inboxd.replay_dead(text, timestamptz, text),
            inboxd.discard(bigint, text) to inboxd_ops;
        -- To see other sessions in `horizon` and `stuck`.
        begin
            if not pg_catalog.pg_has_role('inboxd_ops', 'pg_read_all_stats', 'member') then
                grant pg_read_all_stats to inboxd_ops;
            end if;
        exception when others then
            raise notice 'inboxd_ops does not get pg_read_all_stats: %', sqlerrm;
        end;
    end if;

    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_app') then
        grant usage on schema inboxd to inboxd_app;
        grant execute on function inboxd.defer(text, interval), inboxd.reject(text) to inboxd_app;
    end if;
end $$;
