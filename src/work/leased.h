/* A batch of events under leases: claimed and committed first, then run one after another outside
 * of any transaction (phase A), then settled together in one transaction that begins with the fence
 * and runs the events' SQL actions (phase B). An event whose handler asks for the connection has a
 * transaction of its own, which its outcome is part of.
 *
 * Whoever has lost a lease writes nothing. What could not be settled is owed (work/worker.h): given
 * back as soon as the database is there again, or found by others when the lease runs out.
 *
 * One thread. leased_claim_batch() or leased_claim_alone(), then leased_finish() if there are
 * events, then run_release(). */
#ifndef WORK_LEASED_H
#define WORK_LEASED_H

#include "work/leases.h"
#include "work/run.h"

/* Claims events behind `after`. -1: run_failed() says how it ended. */
int leased_claim_batch(struct run *run, struct position after, int limit,
                       struct lease_claim *result) MUST_CHECK;

/* Claims one event that must run alone: its attempt counts from now on. No events: nothing was due,
 * or *dead is set and the one that was due had no attempts left. */
int leased_claim_alone(struct run *run, bool *dead) MUST_CHECK;

struct leased_end {
    enum run_end end;     /* the worst of what was settled */
    size_t ran;           /* events whose handlers began */
    int64_t took_us;      /* for those */
    struct claimed *owed; /* still under their leases: to be given back; on the heap */
    size_t owed_count;
    bool suspect; /* they may have killed the session: they run alone then */
};

/* Runs and settles. */
void leased_finish(struct run *run, struct leases *leases, struct leased_end *end);

/* Before run_finish() of a run of lanes (work/lane_run.h): where its only event is of class leased,
 * runs the actions that are no statements, under the lease of its lane, which is the fence. */
void leased_lane_event(struct run *run);

#endif
