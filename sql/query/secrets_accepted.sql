-- secrets_accepted.sql: The secrets from handshakes that verify requests: id, provider, sealed; in the order of their ids.
select s.id, s.provider, s.sealed
  from inboxd.captured_secret s
 where s.accepted_at is not null and s.rejected_at is null
 order by s.id;
