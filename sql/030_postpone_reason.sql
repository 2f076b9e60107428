-- min-daemon: 1
-- An event that is postponed without a reason has not failed: it says what inboxd.defer() says.

-- Not yet, or not by me: the attempt does not count. Tried again after `delay` (null: the provider's `defer`), and as soon as
-- another event of its key is done; dead with the reason when it was postponed for longer than `defer_limit` in all. Returns
-- 'defer' or 'dead'; null: the lease was lost, and nothing changes.
create or replace function inboxd.postpone(id bigint, token bigint, reason text, delay interval default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
    w      inboxd.work := inboxd.pulled(id, token);
    policy inboxd.provider_policy;
    since  timestamptz;
    why    text := inboxd.cut_error(coalesce(nullif(reason, ''), 'deferred'));
begin
    if w.id is null then
        return null;
    end if;
    select p.* into policy from inboxd.provider_policy p where p.provider = w.provider;
    since := coalesce(w.deferred_since, now());
    if now() - since >= policy.defer_limit then
        perform inboxd.pull_dead(w, format('deferred for longer than defer_limit (%s s): %s',
                                           trim_scale(extract(epoch from policy.defer_limit)), why));
        return 'dead';
    end if;
    update inboxd.work k
       set token = 0, attempt = k.attempt - 1, deferred_since = since, last_error = why,
           run_at = now() + least(greatest(coalesce(delay, policy.defer), interval '0'), since + policy.defer_limit - now()),
           aside = case when k.lane is not null then 'defer' end
     where k.id = w.id;
    insert into inboxd.attempt_log (id, attempt, kind, error) values (w.id, w.attempt, 'defer', why);
    if w.lane is not null then
        perform inboxd.free_lane(w.provider, w.lane, case when w.aside is null then w.id else 0 end);
    end if;
    return 'defer';
end $$;
