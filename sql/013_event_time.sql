-- min-daemon: 1
-- When an event happened, as its sender says (event_time of the configuration; null: it does not say). Nothing depends on it.
alter table inboxd.event_store add column event_time timestamptz;
alter table inboxd.event_kept add column event_time timestamptz;

-- The views as in 004_views.sql, with one more column at the end.
create or replace view inboxd.event_content as
select id, event_type, ordering_key, received_at, headers, payload, payload_repaired, body, signature_verified, source_ip,
       event_time
  from inboxd.event_store
union all
select id, event_type, ordering_key, received_at, headers, payload, payload_repaired, body, signature_verified, source_ip,
       event_time
  from inboxd.event_kept;

create or replace view inboxd.webhook_inbox as
select w.id, w.provider, l.event_id, w.received_at, c.headers, c.payload,
       case when w.processing then 1::smallint else 0::smallint end as status, w.attempt,
       w.run_at as next_attempt_at, w.last_error, null::timestamptz as processed_at, w.deferred_since, w.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip, c.event_time
  from inboxd.undone w
  left join inboxd.ledger l on l.id = w.id and l.provider = w.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = w.id) c on c.id = w.id
union all
select o.id, o.provider, l.event_id, l.received_at, c.headers, c.payload, 3::smallint, o.attempt,
       null, o.last_error, o.processed_at, null, c.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip, c.event_time
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = o.id) c on c.id = o.id
 where o.status = 3
union all
select o.id, o.provider, l.event_id, l.received_at, c.headers, c.payload, 2::smallint, o.attempt,
       null, o.last_error, o.processed_at, null, c.event_type,
       c.ordering_key, c.payload_repaired, c.body, c.signature_verified, c.source_ip, c.event_time
  from inboxd.outcome o
  left join inboxd.ledger l on l.id = o.id and l.provider = o.provider
  left join lateral (select distinct on (e.id) e.* from inboxd.event_content e where e.id = o.id) c on c.id = o.id
 where o.status = 2;

create or replace view inboxd.recent_events as
select l.id, l.provider, l.event_id, l.received_at, i.headers, i.payload, i.status, i.attempt, i.next_attempt_at,
       i.last_error, i.processed_at, i.deferred_since, i.event_type, i.ordering_key, i.payload_repaired, i.body,
       i.signature_verified, i.source_ip, i.event_time
  from inboxd.ledger l
 cross join lateral (select * from inboxd.webhook_inbox w where w.id = l.id offset 0) i;
