/* A thread's next thing to do: looking for what became due, a batch of a queue, an event that runs
 * alone, or ending. */
#ifndef WORK_JOB_H
#define WORK_JOB_H

#include "work/pool_state.h"

enum job_kind { JOB_END, JOB_LOOK, JOB_BATCH, JOB_ALONE };

struct job {
    enum job_kind kind;
    struct plan *plan; /* a reference */
    struct source *source;
    enum queue queue;
    struct feed *feed; /* the source's, of that queue */
    const struct plan_provider *provider;
    struct feed_claim claim; /* of JOB_BATCH */
    bool alone; /* no event that could cost ours its attempt runs alone meanwhile: of JOB_ALONE, and
                   of a claim of lanes, which may then find one */
};

/* The next job; waits for one. */
void job_take(struct member *member, struct job *job);

/* Under the lock: a batch, or an event that ran alone, is over. */
void job_end(struct pool *pool, struct job *job);
/* Under the lock: what the job runs alone is over, or there is nothing such. */
void job_alone_end(struct pool *pool, struct job *job);

/* Under the lock: wakes a thread that sleeps, if there is one. */
void job_call_another(struct pool *pool);

#endif
