-- lane_release.sql: $1 provider, $2 keys, $3 token of their claim, $4 id of the last event of each that is
-- settled (0: none), $5 ids that run alone from now on. After a transaction that did not commit, in one of its own: the lanes
-- that are still ours are free at once. What is lost belongs to somebody else, who has marked it. Returns how many.
-- Index: lane_pkey.
with held as materialized (
    select l.key, u.last from inboxd.lane l
      join unnest($2::text[], $4::bigint[]) as u (key, last) on u.key = l.key || ''
     where l.key = any ($2::text[]) and l.provider || '' = $1::text and l.token = $3::bigint and l.taken_id <> 0
     order by l.key
       for update of l
), marked as (
    update inboxd.work w set suspect = true
     where w.id = any ($5::bigint[]) and not w.suspect and w.provider = $1::text and w.lane in (select key from held)
), released as (
    update inboxd.lane l
       set ready_at = now(), after_id = greatest(l.after_id, h.last), taken_id = 0, taken_alone = false
      from held h
     where l.key = any ($2::text[]) and l.key || '' = h.key and l.provider || '' = $1::text
    returning 1
)
select count(*)::int from released
