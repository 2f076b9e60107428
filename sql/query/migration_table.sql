-- migration_table.sql: no parameters. What the migrator runs before anything else (it holds its advisory lock):
-- the schema, and the table that says which migrations were applied. min_daemon: the oldest daemon, named by the
-- last migration it knows, that still works on the schema after this migration.
create schema if not exists inboxd;
create table if not exists inboxd.schema_migration (
    version    int         primary key,
    name       text        not null,
    applied_at timestamptz not null default now(),
    min_daemon int         not null
);
