-- daemon_gone.sql: $1 instance. A daemon that stops says so.
delete from inboxd.daemon where instance = $1::text
