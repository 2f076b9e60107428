/* Phase A of an event that has a lane. The rest is the lane's transaction (work/lane_run.h). */
#include "base/clock.h"
#include "work/lane_run.h"
#include "work/leased_parts.h"

#define PINGS 3

static bool is_leased(const struct run *run)
{
    return run->claim.count == 1 && run->claim.events[0].class == WORK_LEASED &&
           run->verdicts[0].what == OUTCOME_DONE;
}

/* A connection that was cut while the program ran is no reason to run it again. */
static void ping(struct run *run)
{
    struct err ignored;

    for (int i = 0; i < PINGS && !run->entered && run->opens; i++)
        if (db_connect(run->db, &ignored) == 0 && db_exec(run->db, "select 1", &ignored) == 0)
            return;
}

void leased_lane_event(struct run *run)
{
    struct leased leased = {.run = run};
    struct db_result *rows;

    if (!is_leased(run))
        return;
    if (lease_load(run->db, run->args, run->claim.events, 1, LEASED_LOAD_BYTES,
                   leased_wants_payload(run), &rows, &run->err) < 0) {
        run_leave(run, 0);
        return;
    }
    leased_run_loaded(&leased, 0, rows, 0);
    db_result_free(rows);
    if (run->verdicts[0].what != OUTCOME_DONE)
        lane_run_failed(run, 0);
    if (!run->opens)
        (void)(db_pipeline_begin(run->db, &run->err) == 0);
    else
        ping(run);
}
