-- secret_capture.sql: $1 provider, $2 the sealed secret, $3 its fingerprint, $4 the sender's address or null. Puts it into
-- the provider's slot, by captured_secret_slot. Returns captured; same (it is there already); taken (another one is).
with new as (
    insert into inboxd.captured_secret (provider, sealed, fingerprint, source_ip)
    values ($1::text, $2::bytea, $3::bytea, $4::text)
    on conflict (provider) where rejected_at is null do nothing
    returning 1
)
select case when exists (select from new) then 'captured'
            when exists (select from inboxd.captured_secret s
                          where s.provider = $1::text and s.rejected_at is null and s.fingerprint = $3::bytea) then 'same'
            else 'taken' end;
