/* Which events are suspect, and why. */
#include "work/debt.h"

#include <stdlib.h>

#include "inbox/lease.h"
#include "work/lane_run.h"

static void suspect_all(struct debt *debt, const struct run *run)
{
    for (size_t i = 0; i < run->claim.count; i++)
        debt->suspects[debt->suspect_count++] = run->claim.events[i].id;
}

static void note_events(struct debt *debt, const struct run *run, enum run_end end)
{
    bool alone = run->claim.count == 1 && run->claim.events[0].counted;
    /* A handler can end its own session just as an administrator can. */
    bool ended_by_order = run->sqlstate[0] != '\0';

    switch (end) {
    case RUN_COMMITTED:
        return;
    case RUN_TAKEN_OVER: /* or too late for it to begin */
        debt->gives_back = alone && run->started_us == 0;
        break;
    case RUN_ROLLED_BACK: /* and could not be written down */
        if (!alone && run->claim.count == 1)
            suspect_all(debt, run);
        return;
    case RUN_UNAVAILABLE:
    case RUN_INTERRUPTED:
        debt->gives_back = alone;
        break;
    case RUN_LOST:
        debt->unless_restarted = ended_by_order;
        if (!alone)
            suspect_all(debt, run);
        debt->gives_back = alone && ended_by_order;
        break;
    }
    if (debt->gives_back)
        debt->alone = run->claim.events[0];
}

bool debt_note(struct debt *debt, const struct run *run, enum run_end end)
{
    debt_release(debt);
    if (end == RUN_COMMITTED)
        return false;
    note_events(debt, run, end);
    if (run->lanes)
        lane_return_note(&debt->lanes, run->provider->config->name, &run->lanes->lanes);
    debt->owed = debt->suspect_count > 0 || debt->gives_back || debt->lanes.count > 0;
    return debt->suspect_count > 0 && !run->lanes;
}

void debt_note_leases(struct debt *debt, struct claimed *events, size_t count, bool suspect)
{
    debt_release(debt);
    /* An attempt that was counted before it began, and may have ended its session, stays counted:
     * the next one begins when the lease runs out. */
    if (count == 0 || (suspect && events[0].counted)) {
        free(events);
        return;
    }
    debt->owed = true;
    debt->leases = events;
    debt->lease_count = count;
    debt->leases_suspect = suspect;
}

int debt_pay(struct debt *debt, struct db *db, struct db_args *args, bool restarted,
             struct err *err)
{
    bool innocent = debt->unless_restarted && restarted;
    size_t suspects = innocent ? 0 : debt->suspect_count;

    if (debt->gives_back && (innocent || !debt->unless_restarted) &&
        claim_alone_return(db, args, &debt->alone, err) < 0)
        return -1;
    debt->gives_back = false;
    if (debt->leases &&
        lease_release(db, args, debt->leases, debt->lease_count, debt->leases_suspect, err) < 0)
        return -1;
    if (debt->lanes.count > 0) {
        if (lane_return_run(db, args, &debt->lanes, debt->suspects, suspects, err) < 0)
            return -1;
    } else if (suspects > 0 && claim_mark_suspect(db, args, debt->suspects, suspects, err) < 0) {
        return -1;
    }
    debt_release(debt);
    return 0;
}

void debt_release(struct debt *debt)
{
    lane_return_release(&debt->lanes);
    free(debt->leases);
    debt->leases = NULL;
    debt->owed = debt->unless_restarted = debt->gives_back = false;
    debt->suspect_count = 0;
}
