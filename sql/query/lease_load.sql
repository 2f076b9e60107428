-- lease_load.sql: $1 ids, $2 bytes of bodies after which no more are read, $3 whether payloads are wanted. The content of the
-- first events of the list, one at least: n (1 for the first element), found (false: its content is gone), and what a handler
-- outside of the database needs of it; body is the payload's text where the event was stored without one. The sizes are known
-- without reading the bodies.
with content as materialized (
    select u.n, c.found, c.event_id, c.event_type, c.ordering_key, c.received_at, c.headers, c.body, c.payload,
           sum(coalesce(octet_length(c.body), pg_column_size(c.payload), 0)) over (order by u.n)
           - coalesce(octet_length(c.body), pg_column_size(c.payload), 0) as before
      from unnest($1::bigint[]) with ordinality as u (id, n)
      left join lateral (
           select true as found, s.event_id, s.event_type, s.ordering_key, s.received_at, s.headers, s.body, s.payload
             from inboxd.event_store s where s.id = u.id
            union all
           select true, k.event_id, k.event_type, k.ordering_key, k.received_at, k.headers, k.body, k.payload
             from inboxd.event_kept k where k.id = u.id
            limit 1) c on true
)
select n::int, coalesce(found, false) as found, event_id, event_type, ordering_key, received_at, headers::text as headers,
       coalesce(body, convert_to(payload::text, 'UTF8')) as body,
       case when $3::boolean then payload::text end as payload
  from content
 where before < $2::bigint or n = 1
 order by content.n
