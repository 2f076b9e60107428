/* Taking jobs, all under the lock. Of the threads that sleep, one wakes by itself in time for the
 * next look (the watcher); the others only when they are called. */
#include "work/job.h"

#include "base/clock.h"

void job_call_another(struct pool *pool)
{
    if (pool->sleeping > 0)
        pthread_cond_signal(&pool->work);
}

void job_alone_end(struct pool *pool, struct job *job)
{
    if (!job->alone)
        return;
    job->alone = false;
    schedule_alone_end(&pool->schedule, job->provider);
    job_call_another(pool); /* one that did not fit may be due */
}

void job_end(struct pool *pool, struct job *job)
{
    job->source->running--;
    job_alone_end(pool, job);
}

/* What a claim of lanes finds is known only when it counts already: so it may find one, which runs
 * first, and never loses its attempt to an event that it waited for. */
static void expect_suspect(struct pool *pool, struct job *job)
{
    job->alone = schedule_alone_fits(&pool->schedule, job->provider);
    if (job->alone)
        schedule_alone_begin(&pool->schedule, job->provider);
}

static void take_source(struct pool *pool, struct source *source, enum queue queue, struct job *job)
{
    struct feed *feed = &source->feeds[queue];

    job->source = source;
    job->queue = queue;
    job->feed = feed;
    job->provider = &pool->plan->providers[source->plan_index];
    source->running++;
    if (feed->alone_due && !(feed->ready && feed->alone_last) &&
        schedule_alone_fits(&pool->schedule, job->provider)) {
        feed->alone_last = true;
        schedule_alone_begin(&pool->schedule, job->provider);
        job->kind = JOB_ALONE;
        job->alone = true;
        return;
    }
    feed->alone_last = false;
    job->kind = JOB_BATCH;
    feed_claim_begin(feed, &job->claim);
    if (queue == QUEUE_LANE)
        expect_suspect(pool, job);
}

static bool find_job(struct pool *pool, struct job *job, int64_t now)
{
    struct source *source;
    enum queue queue;

    *job = (struct job){.plan = pool->plan};
    if (schedule_look_due(&pool->schedule, now)) {
        job->kind = JOB_LOOK;
        return true;
    }
    source = schedule_pick(&pool->schedule, pool->plan, now, &queue);
    if (source)
        take_source(pool, source, queue, job);
    return source != NULL;
}

static void sleep_until_called(struct member *member, int64_t now)
{
    struct pool *pool = member->pool;

    pool->sleeping++;
    if (now < member->pause_until) {
        pool_wait_until(&pool->work, pool, member->pause_until);
    } else if (!pool->watched) {
        pool->watched = true;
        pool_wait_until(&pool->work, pool, schedule_next_look(&pool->schedule));
        pool->watched = false;
    } else {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    pool->sleeping--;
}

void job_take(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;

    pool_lock(pool);
    for (;;) {
        int64_t now = clock_mono_us();

        if (pool->stopping || member->number > pool->wanted) {
            job->kind = JOB_END;
            job->plan = NULL;
            job_call_another(pool); /* it may have been the one that was called */
            break;
        }
        if (now >= member->pause_until && find_job(pool, job, now)) {
            plan_ref(job->plan);
            if (!pool->watched || schedule_has_more(&pool->schedule, pool->plan, now))
                job_call_another(pool);
            break;
        }
        sleep_until_called(member, now);
    }
    pool_unlock(pool);
}
