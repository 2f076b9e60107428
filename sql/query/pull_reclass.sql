-- pull_reclass.sql: $1 providers none of whose routes is for pull (any more), $2 at most. Their rows of class pull would wait
-- for an application for ever: workers have them from now on, and put those back that have another class than sql. What an
-- application has claimed nobody else gets before its lease is over, but it cannot settle it any more. Returns how many rows
-- there were.
with those as materialized (
    select w.id from inboxd.work w
     where w.provider = any ($1::text[]) and w.class = 'pull'
     order by w.id
     limit $2::int
       for update skip locked
), changed as (
    update inboxd.work w set class = 'sql', suspect = false
     where w.id = any (array(select id from those))
    returning w.id
)
select count(*) as changed from changed
