-- The design that most teams would write: one table, its status updated in place. The baseline of the benchmarks.
create table public.article_inbox (
    id              bigserial   primary key,
    provider        text        not null,
    event_id        text        not null,
    received_at     timestamptz not null default now(),
    headers         jsonb       not null,
    payload         jsonb       not null,
    status          smallint    not null default 0,
    attempt         int         not null default 0,
    next_attempt_at timestamptz not null default now(),
    last_error      text,
    processed_at    timestamptz,
    unique (provider, event_id)
);
create index article_inbox_due on public.article_inbox (status, next_attempt_at, received_at);
