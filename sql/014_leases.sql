-- min-daemon: 1
-- A leased event is being processed while its lease lasts: its row is not locked meanwhile.
create or replace view inboxd.undone as
select w.*,
       r.pid is not null or coalesce(l.taken_id >= w.id and l.ready_at > now(), false)
           or w.class <> 'sql' and w.lane is null and w.token <> 0 and w.run_at > now() as processing,
       r.pid
  from inboxd.work w
  left join inboxd.running_transaction r on r.xid = w.xmax
  left join inboxd.lane l on l.provider = w.provider and l.key = w.lane;
