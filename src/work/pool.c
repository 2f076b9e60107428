/* The pool: its threads begin, are called and end here. What they do: work/job.h, work/look.h,
 * work/batch_job.h, work/leased_job.h, work/lane_job.h. */
#include "work/pool.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "work/batch_job.h"
#include "work/lane_job.h"
#include "work/leased_job.h"
#include "work/look.h"

#define INTERRUPT_EVERY_US (200 * 1000)

/* ---- threads ---- */

static void do_work(struct member *member, struct job *job)
{
    switch (job->queue) {
    case QUEUE_LEASED:
        leased_job_do(member, job);
        break;
    case QUEUE_LANE:
        lane_job_do(member, job);
        break;
    case QUEUE_SQL:
    case QUEUE_COUNT:
        batch_job_do(member, job);
        break;
    }
}

static void *thread_main(void *argument)
{
    struct member *member = argument;
    struct pool *pool = member->pool;
    struct job job;

    for (;;) {
        job_take(member, &job);
        if (job.kind == JOB_END)
            break;
        if (job.kind == JOB_LOOK)
            look_do(member, &job);
        else
            do_work(member, &job);
        plan_unref(job.plan);
    }
    if (worker_is_in_debt(member->worker))
        member_ready(member);
    worker_disconnect(member->worker);
    pool_lock(pool);
    member->ended = true;
    pool->running--;
    pthread_cond_broadcast(&pool->end);
    pool_unlock(pool);
    return NULL;
}

/* Under the lock: as many threads as are wanted; the surplus ends by itself. */
static void start_threads(struct pool *pool)
{
    size_t wanted = (size_t)pool->wanted;

    if (wanted > pool->member_count) {
        pool->members = mem_resize(pool->members, wanted * sizeof(struct member *));
        for (; pool->member_count < wanted; pool->member_count++) {
            struct member *member = mem_alloc(sizeof(*member));

            *member =
                (struct member){.pool = pool, .number = (int)pool->member_count + 1, .ended = true};
            pool->members[pool->member_count] = member;
        }
    }
    for (size_t i = 0; i < wanted; i++) {
        struct member *member = pool->members[i];

        if (!member->ended)
            continue;
        if (member->worker)
            pthread_join(member->thread, NULL);
        worker_free(member->worker);
        member->worker =
            worker_new(pool->plan->config->database.ptr, member->number, &pool->interrupted);
        member->ended = false;
        member->pause_until = member->pause_us = 0;
        if (pthread_create(&member->thread, NULL, thread_main, member) != 0)
            abort();
        pool->running++;
    }
}

struct pool *pool_new(const struct config *config, atomic_int *hung)
{
    struct pool *pool = mem_alloc(sizeof(*pool));
    pthread_condattr_t monotonic;

    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->work, &monotonic);
    pthread_cond_init(&pool->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&pool->interrupted, false);
    pool->plan = plan_new(config);
    pool->leases = leases_new(config->database.ptr, hung);
    schedule_set_plan(&pool->schedule, pool->plan);
    pool_lock(pool);
    pool->wanted = config->workers;
    start_threads(pool);
    pool_unlock(pool);
    return pool;
}

void pool_notify(struct pool *pool, struct str provider, enum queue queue, int64_t run_at)
{
    struct source *source;

    pool_lock(pool);
    source = schedule_find(&pool->schedule, provider);
    if (source) {
        feed_lower(&source->feeds[queue], (struct position){run_at, 0});
        job_call_another(pool);
    }
    pool_unlock(pool);
}

void pool_reload(struct pool *pool, const struct config *config)
{
    struct plan *old, *plan = plan_new(config);

    pool_lock(pool);
    old = pool->plan;
    pool->plan = plan;
    pool->plan_checked = false;
    schedule_set_plan(&pool->schedule, plan);
    pool->wanted = config->workers;
    if (!pool->stopping)
        start_threads(pool);
    pthread_cond_broadcast(&pool->work);
    pool_unlock(pool);
    plan_unref(old);
}

void pool_stop(struct pool *pool, int64_t timeout_ms)
{
    int64_t deadline = clock_mono_us() + timeout_ms * 1000;

    pool_lock(pool);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    while (pool->running > 0 && clock_mono_us() < deadline)
        pool_wait_until(&pool->end, pool, deadline);
    while (pool->running > 0) {
        atomic_store(&pool->interrupted, true);
        for (size_t i = 0; i < pool->member_count; i++) {
            struct member *member = pool->members[i];

            if (!member->ended) {
                pool_unlock(pool);
                worker_interrupt(member->worker);
                pool_lock(pool);
            }
        }
        pool_wait_until(&pool->end, pool, clock_mono_us() + INTERRUPT_EVERY_US);
    }
    pool_unlock(pool);
    for (size_t i = 0; i < pool->member_count; i++) {
        if (pool->members[i]->worker)
            pthread_join(pool->members[i]->thread, NULL);
        worker_free(pool->members[i]->worker);
        pool->members[i]->worker = NULL;
    }
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->member_count; i++)
        free(pool->members[i]);
    free(pool->members);
    leases_free(pool->leases);
    schedule_release(&pool->schedule);
    plan_unref(pool->plan);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->end);
    free(pool);
}
