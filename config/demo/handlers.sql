-- The business side of the demo: two tables and two handlers. A handler runs in the transaction that marks its event
-- as done, so that its changes are there exactly once. It runs as the daemon's role, which needs the grants at the end.

create schema demo;

-- Without a unique index on purpose: if an event ever ran twice, it would show here.
create table demo.payment (
    invoice  text        not null,
    customer text        not null,
    cents    bigint      not null,
    booked   timestamptz not null default now()
);

create table demo.repository (name text primary key);

create table demo.pull_request (
    repository text   not null references demo.repository,
    number     bigint not null,
    title      text   not null
);

create function demo.on_stripe(e inboxd.event) returns void language plpgsql as $$
begin
    if e.event_type = 'invoice.paid' then
        insert into demo.payment (invoice, customer, cents)
        values (e.payload #>> '{data,object,id}',
                e.payload #>> '{data,object,customer}',
                (e.payload #>> '{data,object,amount_paid}')::bigint);
    end if;
end
$$;

create function demo.on_github(e inboxd.event) returns void language plpgsql as $$
declare
    repository text := e.payload #>> '{repository,full_name}';
begin
    if not exists (select from demo.repository r where r.name = repository) then
        raise exception 'repository % is not registered', repository;
    end if;
    insert into demo.pull_request (repository, number, title)
    values (repository, (e.payload ->> 'number')::bigint, e.payload #>> '{pull_request,title}');
end
$$;

grant usage on schema demo to inboxd_daemon;
grant select, insert on all tables in schema demo to inboxd_daemon;
