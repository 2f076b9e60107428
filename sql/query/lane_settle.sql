-- lane_settle.sql: $1 provider, $2 keys, without repeats, $3 token of their claim, $4 ids of what ran, $5 keys
-- of which something is done. In the transaction that ran the events, before their outcomes are written: locks the lanes,
-- deletes the rows, and makes what was deferred for the sake of those keys due at once. Raises IBX04 where a lane has been
-- claimed by somebody else meanwhile, or a row is gone: then nothing commits.
-- The look for what is next (lane_next.sql) is a statement of its own: its snapshot has to be younger than the locks.
-- Indexes: lane_pkey, work_pkey, work_aside.
with held as materialized (
    select l.key from inboxd.lane l
     where l.provider || '' = $1::text and l.key = any ($2::text[]) and l.token = $3::bigint and l.taken_id <> 0
     order by l.key
       for update
), settled as (
    delete from inboxd.work w
     where w.id = any (case when (select count(*) from held) = cardinality($2::text[]) then $4::bigint[] else '{}' end)
    returning w.id
), woken as (
    update inboxd.work w set run_at = statement_timestamp()
     where w.id = any (array(
           select o.id
             from unnest($5::text[]) as d (key)
            cross join lateral (
                  select x.id from inboxd.work x
                   where x.provider = $1::text and x.lane = d.key and x.aside = 'defer' and x.run_at > statement_timestamp()
                  offset 0) o
            where o.id <> all ($4::bigint[])))
)
select inboxd.fence((select count(*) from held) = cardinality($2::text[])
                    and (select count(*) from settled) = cardinality($4::bigint[]))
