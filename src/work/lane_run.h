/* A claim of lanes (inbox/lane.h), run by the functions of work/run.h: the claim is committed, then
 * its events run in one transaction after the other, at most terms.limit and CLAIM_MAX of them in
 * each, until all are done or the lanes were held for long enough. Each transaction ends with the
 * fence, so that what was done under a lost lease does not commit.
 *
 * One thread. lane_run_claim(); then, while lane_run_open() says so, run_finish() and, when that
 * committed, lane_run_committed(); at the end lanes_release(). */
#ifndef WORK_LANE_RUN_H
#define WORK_LANE_RUN_H

#include "inbox/lane.h"
#include "work/feed.h"
#include "work/run.h"

struct lane_run {
    struct lanes lanes;
    struct lane_terms terms;
    size_t at;             /* events before it are done with */
    bool last;             /* the transaction under way releases all that is left */
    int64_t claimed_us;    /* monotonic, before the claim was sent */
    int64_t alive_us;      /* likewise, and before the transaction that committed last */
    struct lane_next next; /* of the lanes that were released last */
};

/* -1: run_failed() says how it ended. `run->lanes` is set and zeroed. No lanes: nothing was due.
 * With `suspect` one event may begin an attempt that counts, whatever becomes of the process: it is
 * the first one to run. Without, none does. */
int lane_run_claim(struct run *run, const struct feed_claim *claim, bool suspect) MUST_CHECK;
/* Whether one of those that were claimed has. */
bool lane_run_has_counted(const struct run *run);

/* Sets the run's claim to the events of the next transaction (none, where lanes have nothing and
 * are only to be released). False: everything is released. */
bool lane_run_open(struct run *run);
/* Whether a transaction may begin: the thread was not frozen for long since the last sign of life.
 */
bool lane_run_has_time(const struct run *run);
/* When the transaction's handlers have had their time; monotonic us. */
int64_t lane_run_until(const struct run *run);
void lane_run_committed(struct run *run);

/* ---- for run.c ---- */

/* The event's verdict says that it failed: what that means for its key. */
void lane_run_failed(struct run *run, size_t i);
/* Queue the first and the last statement of the transaction's end. */
int lane_run_send_settle(struct run *run) MUST_CHECK;
int lane_run_send_next(struct run *run) MUST_CHECK; /* 1, 0 where no lane ends, -1 */
void lane_run_read_next(struct run *run, const struct db_result *rows);
/* Readies a run whose only event has the verdict run.blame. */
void lane_run_take_blame(struct run *run);

#endif
