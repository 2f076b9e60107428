-- min-daemon: 1
-- What operators do to an event leaves one alone that runs now, however it was claimed: by a lease, too, whose row nobody has
-- locked. An application's claim (on = pull) is such a lease.

-- What operators do to an event comes after whoever runs it, and before whoever claims it next: the row of its lane is locked
-- first, by everybody; without a lane its own row is. Returns the lane's key, null where the event has none; raises where it is
-- being processed.
create or replace function inboxd.lock_lane_of(id bigint, doing text) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    found_key text;
    leased_to timestamptz;
    runs      boolean;
begin
    perform from inboxd.lane l
       join inboxd.work w on w.provider = l.provider and w.lane = l.key
      where w.id = lock_lane_of.id
        for update of l;
    select u.lane into found_key from inboxd.undone u where u.id = lock_lane_of.id and u.lane is not null and not u.processing;
    if found then
        return found_key;
    end if;
    select case when w.class <> 'sql' and w.token <> 0 and w.run_at > now() then w.run_at end into leased_to
      from inboxd.work w where w.id = lock_lane_of.id and w.lane is null for update skip locked;
    runs := not found and exists (select from inboxd.work w where w.id = lock_lane_of.id);
    if runs or leased_to is not null then
        raise exception using errcode = 'object_in_use',
            message = format('cannot %s event %s: it is being processed now', doing, lock_lane_of.id),
            hint = coalesce('Its lease lasts until ' || leased_to || ', or longer, if it is renewed.', 'Try again when it has ended.');
    end if;
    return null;
end $$;
