-- min-daemon: 1
-- Tables. Nothing big is ever updated, and undone work lives apart from history:
--   ledger       who sent what, once         narrow, long-lived, the unique key
--   event_store  what was sent               insert-only, partitioned by id, dropped whole (002)
--   work         what is still to be done    one narrow row an event, deleted when it is done
--   outcome      how it ended                one narrow row an event, insert-only
-- docs/schema.md says what each column means.

-- Cache 1: events of one ordering key draw their ids under the lane's lock, and a session that hoards ids would
-- hand out old ones late.
create sequence inboxd.event_id_seq as bigint cache 1;

-- Fencing tokens: one a claim that is committed before the work.
create sequence inboxd.token_seq as bigint cache 32;

create table inboxd.setting (
    one_row        boolean primary key default true check (one_row),
    partition_rows bigint  not null default 1000000 check (partition_rows > 0)  -- ids in a new partition of event_store
);
insert into inboxd.setting default values;

create table inboxd.ledger (
    provider    text collate "C" not null,
    event_id    text collate "C" not null,
    id          bigint           not null default nextval('inboxd.event_id_seq'),
    received_at timestamptz      not null default now(),
    body_sha256 bytea            not null,
    primary key (provider, event_id),
    unique (id)
);
alter sequence inboxd.event_id_seq owned by inboxd.ledger.id;

create table inboxd.event_store (
    id                 bigint                 not null,
    provider           text collate "C"       not null,
    event_id           text collate "C"       not null,
    event_type         text,
    ordering_key       text,
    received_at        timestamptz            not null,
    headers            jsonb compression lz4  not null,
    payload            jsonb compression lz4,             -- null: the body is no JSON that can be kept
    payload_repaired   boolean                not null,
    body               bytea compression lz4,
    signature_verified boolean                not null,
    source_ip          inet,
    primary key (id)
) partition by range (id);

-- Events that outlive their partition: undone or dead when it was dropped.
create table inboxd.event_kept (
    like inboxd.event_store including compression,
    primary key (id)
);

-- What a handler gets. Apart from the tables, so that their columns may change.
create type inboxd.event as (
    id           bigint,
    provider     text,
    event_id     text,
    event_type   text,
    ordering_key text,
    received_at  timestamptz,
    headers      jsonb,
    payload      jsonb,
    body         bytea,
    attempt      int
);

create table inboxd.work (
    id             bigint           primary key,
    provider       text collate "C" not null,
    class          text collate "C" not null check (class in ('sql', 'leased', 'pull')),
    run_at         timestamptz      not null default now(),
    attempt        int              not null default 0,      -- tries so far
    attempt_base   int              not null default 0,      -- tries before the last replay
    token          bigint           not null default 0,      -- of the last claim that was committed
    suspect        boolean          not null default false,  -- did not finish: runs alone
    lane           text collate "C",                         -- ordering key; null: no order
    event_type     text,                                     -- routing needs no look into event_store
    received_at    timestamptz      not null,
    deferred_since timestamptz,
    last_error     text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index work_due     on inboxd.work (provider, class, run_at, id) where lane is null and not suspect;
create index work_suspect on inboxd.work (provider, class, run_at, id) where lane is null and suspect;
create index work_lane    on inboxd.work (provider, lane, id) where lane is not null;

-- One row an ordering key that has undone work; its lock is what puts ids of one key in order.
create table inboxd.lane (
    provider text collate "C" not null,
    key      text collate "C" not null,
    ready_at timestamptz      not null default now(),  -- run_at of the first row, or the end of the lease
    after_id bigint           not null default 0,      -- every row of the lane up to here is finished
    taken_id bigint           not null default 0,      -- claimed up to here, while ready_at lasts
    token    bigint           not null default 0,
    primary key (provider, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index lane_ready on inboxd.lane (provider, ready_at, key);

-- event_id and received_at are the ledger's: both rows live equally long.
create table inboxd.outcome (
    id           bigint           primary key,
    provider     text collate "C" not null,
    status       smallint         not null check (status in (2, 3)),  -- 2 done, 3 dead
    attempt      int              not null,
    last_error   text,                                                -- of a done event: why it was discarded
    processed_at timestamptz      not null default statement_timestamp()
);
create index outcome_dead on inboxd.outcome (provider, processed_at) where status = 3;

-- Every attempt that was not a plain success, and what operators did to the event.
create table inboxd.attempt_log (
    id      bigint      not null,
    attempt int         not null,
    at      timestamptz not null default statement_timestamp(),
    kind    text        not null check (kind in ('retry', 'defer', 'dead', 'timeout', 'lost', 'replay', 'discard')),
    error   text,
    took    interval,
    worker  text
);
create index attempt_log_id on inboxd.attempt_log (id, at);

-- Sums a provider and minute. A row a batch, folded into one by fold_counters(); readers add up.
create table inboxd.counters (
    provider  text collate "C" not null,
    minute    timestamptz      not null,
    stored    bigint           not null default 0,
    duplicate bigint           not null default 0,
    differing bigint           not null default 0,  -- duplicates whose bytes differ from the first
    refused   bigint           not null default 0,
    done      bigint           not null default 0,
    failed    bigint           not null default 0,  -- attempts that failed, those that ended dead included
    folded    boolean          not null default false
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index counters_minute on inboxd.counters (minute, provider);
create index counters_raw    on inboxd.counters (minute, provider) where not folded;

-- Running daemons; each renews its row every 10 s.
create table inboxd.daemon (
    instance   text        primary key,
    host       text        not null,
    pid        int         not null,
    version    text        not null,
    workers    int         not null default 0,          -- 0: it only accepts
    providers  text[]      not null default '{}',       -- of its configuration
    started_at timestamptz not null default now(),
    seen_at    timestamptz not null default now()
);

-- Who did what by hand.
create table inboxd.audit (
    at     timestamptz not null default clock_timestamp(),
    who    text        not null default session_user,
    action text        not null,
    id     bigint,
    detail text
);
create index audit_at on inboxd.audit (at);
