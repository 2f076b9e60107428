-- min-daemon: 1
-- The sessions of applications that pull keep their plans for long: one that was made while there were a handful of keys must not
-- read all of them for each `complete` when there are many.
alter function inboxd.pulled(bigint, bigint) set enable_seqscan = off;
