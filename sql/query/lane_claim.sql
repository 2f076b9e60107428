-- lane_claim.sql: $1 provider, $2 cursor ready_at (-infinity: sweep), $3 cursor number, $4 lanes at most, $5 seconds of the
-- lease. First of two statements of a transaction that is committed before anything runs: locks and leases lanes, those
-- that wait longest first; skips what others hold; none while the provider is paused. lane_take.sql then sees every row
-- of theirs, with a snapshot that is younger than the locks.
-- nextval is called once, so that currval names these lanes to lane_take.sql. Where a lease had run out unsettled,
-- taken_id still says which rows were claimed; elsewhere it is -1 from here on: taken, nothing chosen yet.
-- Returns one row: how many lanes, how many of them with a lease that had run out (0: there is none), ready_at and number
-- of the last one for the cursor, the database's clock.
-- ORDER BY equals index lane_ready. Here and in the other statements of lanes || keeps planners, whatever the statistics
-- say, from looking keys up in an index that is not led by them, and from looking each up once more for a join.
with due as materialized (
    select l.key, l.ready_at, l.number
      from inboxd.lane l
     where l.provider = $1::text and l.ready_at <= now() and (l.ready_at, l.number) > ($2::timestamptz, $3::bigint)
       and not exists (select from inboxd.paused p where p.provider = $1::text)
     order by l.ready_at, l.number
     limit $4::int
       for update skip locked
), claim as materialized (
    select nextval('inboxd.token_seq') as token
), taken as (
    update inboxd.lane l
       set token = (select c.token from claim c),
           ready_at = now() + $5::float8 * interval '1 second',
           blocked = false,
           taken_id = case l.taken_id when 0 then -1 else l.taken_id end
     where l.key = any (array(select d.key from due d)) and l.provider || '' = $1::text
    returning l.taken_id > 0 as lapsed
)
select count(*)::int as lanes, (count(*) filter (where lapsed))::int as lapsed,
       (select d.ready_at from due d order by d.ready_at desc, d.number desc limit 1) as ready_at,
       (select d.number from due d order by d.ready_at desc, d.number desc limit 1) as number,
       now() as now
  from taken
