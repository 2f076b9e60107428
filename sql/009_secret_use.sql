-- min-daemon: 1
-- Which secret of a provider matched last, and when, so that an old one can be taken away. A secret is known by its
-- reference in the configuration (file:/etc/inboxd/secrets/acme, env:NAME, credential:NAME, text:...), never by its value;
-- `ordinal` tells apart what is written the same (two literals). Daemons add what they saw every few seconds, and say once
-- a minute which secrets their configuration has, used or not.

create table inboxd.secret_use_store (
    provider     text collate "C" not null,
    reference    text collate "C" not null,
    ordinal      int not null,                          -- from 1, of lines with the same reference
    number       int not null,                          -- from 1: the n-th secret of the provider's section
    uses         bigint not null default 0,             -- requests that it verified
    last_used_at timestamptz,
    since        timestamptz not null default now(),    -- first seen in a configuration
    seen_at      timestamptz not null default now(),    -- last seen in one
    primary key (provider, reference, ordinal)
);

-- retire: the secret has not verified anything for a week, while another one of the provider has.
create view inboxd.secret_use as
select s.provider, s.number, s.reference, s.last_used_at, s.uses, s.since, s.seen_at,
       coalesce(s.last_used_at, s.since) < now() - interval '7 days' and s.seen_at > now() - interval '1 hour'
           and exists (select from inboxd.secret_use_store o
                        where o.provider = s.provider and o.last_used_at > now() - interval '7 days') as retire
  from inboxd.secret_use_store s
 order by s.provider, s.number, s.reference, s.ordinal;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select, insert, update, delete on inboxd.secret_use_store to inboxd_daemon;
        grant select on inboxd.secret_use to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.secret_use_store, inboxd.secret_use to inboxd_ops;
    end if;
end $$;
