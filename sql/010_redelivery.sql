-- min-daemon: 1
-- Two things that look like duplicates and are not: a sender's operator sends an event again that is dead here, which runs
-- nothing; and a sender, or a configuration, gives each attempt another id, which makes every retry a new event.

-- Not validated: each row fulfils the old, narrower one.
alter table inboxd.attempt_log drop constraint attempt_log_kind_check;
alter table inboxd.attempt_log add constraint attempt_log_kind_check
    check (kind in ('retry', 'defer', 'dead', 'timeout', 'lost', 'replay', 'discard', 'redelivered')) not valid;

-- Dead events; replay(id), replay_dead(...) or discard(id, why) them. redelivered_at: when the sender last sent one again.
create or replace view inboxd.dead_letters as
select o.id, o.provider, l.event_id,
       (select e.event_type from inboxd.event_content e where e.id = o.id limit 1) as event_type,
       l.received_at, o.processed_at as died_at, o.attempt, o.last_error,
       (select max(a.at) from inboxd.attempt_log a
         where a.id = o.id and a.kind = 'redelivered' and a.at >= o.processed_at) as redelivered_at
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
 where o.status = 3;

-- Bodies that came three times and more under different ids, among the newest 20,000 events: is the event_id one of the attempt?
-- No proof, since a sender may mean it so. Index: ledger_id_key.
create view inboxd.repeated_bodies as
select n.provider, count(*) as events, min(n.id) as first_id, max(n.id) as last_id, min(n.received_at) as first_at,
       max(n.received_at) as last_at, (array_agg(n.event_id order by n.id))[1:3] as event_ids
  from (select l.id, l.provider, l.event_id, l.received_at, l.body_sha256
          from inboxd.ledger l order by l.id desc limit 20000) n
 where n.body_sha256 <> sha256('')
 group by n.provider, n.body_sha256
having count(*) >= 3
 order by events desc, last_id desc;

do $$
begin
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_daemon') then
        grant select on inboxd.repeated_bodies to inboxd_daemon;
    end if;
    if exists (select from pg_catalog.pg_roles r where r.rolname = 'inboxd_ops') then
        grant select on inboxd.repeated_bodies to inboxd_ops;
    end if;
end $$;
