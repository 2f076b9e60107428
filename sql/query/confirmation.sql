-- confirmation.sql: $1 provider, $2 address, $3 the sender's address or null. Notes an address that a person has to open; by
-- the primary key. Forgets what is a month old, and all but the newest hundred of the provider.
with old as (
    delete from inboxd.confirmation c
     where c.provider = $1::text
       and (c.received_at < now() - interval '30 days'
            or c.address in (select n.address from inboxd.confirmation n where n.provider = $1::text
                              order by n.received_at desc offset 99))
       and c.address <> $2::text
)
insert into inboxd.confirmation (provider, address, source_ip) values ($1::text, $2::text, $3::text)
on conflict (provider, address) do update set received_at = excluded.received_at, source_ip = excluded.source_ip;
