-- suspect_mark.sql: $1 ids. After a batch that did not commit, in a transaction of its own: its events run one by one
-- from now on. What another session holds is running there and is left alone. Returns the ids that were marked.
-- Index: work_pkey.
update inboxd.work w set suspect = true
 where w.id = any (array(
       select m.id from inboxd.work m where m.id = any ($1::bigint[]) and not m.suspect
        order by m.id for update skip locked))
returning w.id
