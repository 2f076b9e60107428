/* One batch in one transaction: claim, handlers, outcomes, commit. What commits has happened once;
 * what does not has not happened. Each event has a savepoint, so that its failure costs only
 * itself. All of it goes through a pipeline: a batch without failures takes two round trips.
 *
 * One thread. run_claim_batch() or run_claim_alone(), then run_finish() if there are events, then
 * run_release(). */
#ifndef WORK_RUN_H
#define WORK_RUN_H

#include <stdatomic.h>

#include "inbox/settle.h"
#include "work/plan.h"

enum run_end {
    RUN_COMMITTED,
    RUN_ROLLED_BACK, /* the transaction failed, none of its events is to blame: one by one now */
    RUN_UNAVAILABLE, /* the server cannot serve now; nothing happened */
    RUN_INTERRUPTED, /* a shutdown; nothing happened */
    RUN_TAKEN_OVER,  /* the lease ran out meanwhile: others have the events; nothing happened */
    RUN_LOST,        /* the connection is gone, and what ran may be the cause. Nothing happened,
                        unless the commit was under way: then nobody knows */
};

struct lane_run;

struct run {
    struct db *db;
    struct db_args *args;
    const struct plan_provider *provider;
    struct str worker;              /* for people */
    const atomic_bool *interrupted; /* set before db_interrupt() */
    bool deferrable;                /* the database has deferrable constraints */
    struct lane_run *lanes;         /* work/lane_run.h; NULL: the events have no lanes */
    int64_t patience_ms;            /* events that have not begun after so long are put back when
                                       another one fails */

    bool entered; /* the only event's handler has written under SAVEPOINT e */

    /* Results. */
    struct claim claim;
    struct verdict *verdicts; /* one an event */
    size_t conflicts;         /* events that deadlocked or could not be serialized */
    int64_t next_run_at;      /* us since 2000, of those that are tried again; INT64_MAX: none */
    enum db_fault fault;      /* why it did not commit */
    char sqlstate[6];
    struct err err;

    /* run.c's own. */
    bool opens;                     /* the transaction begins with the next section */
    size_t next;                    /* events before it have run */
    int statements[CLAIM_MAX + 1];  /* queued for each event */
    bool savepoint_failed;          /* the one of the last event is to be rolled back to */
    size_t redone;                  /* 1 + the event that ran again because its plans were stale */
    int64_t started_us, section_us; /* monotonic: when the first and the last section were sent */
    size_t section_size;            /* events in the last one */
    struct verdict blame;           /* of the only event, for a failure of the transaction */
};

/* Claims events behind `after`. -1: run_failed() says how it ended. */
int run_claim_batch(struct run *run, struct position after, int limit) MUST_CHECK;

/* Claims one event that must run alone and commits that; then begins its transaction. No events:
 * nothing was due, or *dead is set and the one that was due had no attempts left. */
int run_claim_alone(struct run *run, bool *dead) MUST_CHECK;

/* Runs, settles, commits. With `opens`, which lane_run_open() sets, in a transaction that it begins
 * itself. */
enum run_end run_finish(struct run *run);

/* How a claim ended that failed. */
enum run_end run_failed(struct run *run);

/* After RUN_ROLLED_BACK of a single event: it is to blame. Writes that down in a transaction of its
 * own. */
int run_blame(struct run *run) MUST_CHECK;

void run_release(struct run *run);

#endif
