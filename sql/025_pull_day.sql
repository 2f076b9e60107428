-- min-daemon: 1
-- A day that an application names to the pull API is 24 hours, as everywhere else, and not what is a day in the zone of its
-- session when clocks change there.
alter function inboxd.claim(text, int, interval) set timezone = 'UTC';
alter function inboxd.postpone(bigint, bigint, text, interval) set timezone = 'UTC';
alter function inboxd.renew(bigint, bigint, interval) set timezone = 'UTC';
