/* What the files of the pool share: its threads and its state. Nobody else includes this.
 *
 * A member is a thread. It takes a job under the lock (work/job.h), does it without the lock and
 * reports under the lock (work/look.h, work/batch_job.h, work/leased_job.h, work/lane_job.h). */
#ifndef WORK_POOL_STATE_H
#define WORK_POOL_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "work/leases.h"
#include "work/schedule.h"
#include "work/worker.h"

#define LOG_INTERVAL_US (10 * 1000 * 1000)

struct member {
    struct pool *pool;
    struct worker *worker;
    pthread_t thread;
    int number;           /* from 1 */
    bool ended;           /* the thread is about to return */
    int64_t pause_until;  /* monotonic us */
    int64_t pause_us;     /* the next pause */
    struct feed *returns; /* whose lanes this thread has to give back; NULL: none */
    int64_t returns_at;   /* before they are ready then; us since 2000 */
    struct feed *shut;    /* what this thread's debt keeps shut; NULL: nothing */
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, end;
    struct plan *plan;
    bool plan_checked; /* its handlers were looked for */
    struct schedule schedule;
    struct leases *leases;
    struct member **members;
    size_t member_count, running; /* made, not ended */
    int wanted;
    int sleeping;
    bool watched, stopping;
    atomic_bool interrupted;
    int64_t away_logged_us;
};

static inline void pool_lock(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
}

static inline void pool_unlock(struct pool *pool)
{
    pthread_mutex_unlock(&pool->lock);
}

/* Under the lock. */
static inline void pool_wait_until(pthread_cond_t *cond, struct pool *pool, int64_t mono_us)
{
    struct timespec until = {.tv_sec = mono_us / 1000000, .tv_nsec = mono_us % 1000000 * 1000};

    pthread_cond_timedwait(cond, &pool->lock, &until);
}

/* Under the lock: the database is of no use to this thread for a while. */
void member_pause(struct member *member, const char *why);
/* Connected and without debts, or paused. */
bool member_ready(struct member *member);

#endif
