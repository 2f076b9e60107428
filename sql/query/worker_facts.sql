-- worker_facts.sql: no parameters. `deferrable`: handlers can meet constraints that may be deferred to the commit, beside
-- our own.
-- `started_at`: when the server was started; its recovery from the crash of a backend does not change it.
select exists (select from pg_catalog.pg_trigger where tgdeferrable and tgname <> 'lent_refuse') as deferrable,
       pg_postmaster_start_time() as started_at
