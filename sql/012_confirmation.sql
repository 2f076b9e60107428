-- min-daemon: 1
-- Addresses that a person has to open, so that a subscription begins to deliver (handshake = sns-confirm). The daemon has
-- verified who sent them and opens none of them.
create table inboxd.confirmation (
    provider    text collate "C" not null,
    address     text collate "C" not null,
    source_ip   text,
    received_at timestamptz not null default clock_timestamp(),
    primary key (provider, address)
);

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select, insert, update, delete on inboxd.confirmation to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.confirmation to inboxd_ops;
    end if;
end $$;
