/* The pool: who does what next. Each thread takes a job under the lock, does it without the lock,
 * and reports under the lock. Jobs are a batch or a lone event of the provider whose turn it is,
 * and looking: what became due, what other daemons stored, what was rolled back. One thread at a
 * time looks, every 100 to 250 ms: now at the cursors, now five seconds behind them, seldom over
 * everything, since that walks over whatever an old snapshot keeps. Of the threads that sleep, one
 * wakes by itself in time for the next look (the watcher); the others only when they are called. */
#include "work/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "work/schedule.h"
#include "work/worker.h"

#define PAUSE_FIRST_US (100 * 1000)
#define PAUSE_MOST_US (1000 * 1000)
#define SHUT_US (10 * 1000 * 1000)
#define LOG_INTERVAL_US (10 * 1000 * 1000)
#define INTERRUPT_EVERY_US (200 * 1000)

struct member {
    struct pool *pool;
    struct worker *worker;
    pthread_t thread;
    int number;          /* from 1 */
    bool ended;          /* the thread is about to return */
    int64_t pause_until; /* monotonic us */
    int64_t pause_us;    /* the next pause */
    struct source *shut; /* whom this thread's debt keeps shut; NULL: none */
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, end;
    struct plan *plan;
    bool plan_checked; /* its handlers were looked for */
    struct schedule schedule;
    struct member **members;
    size_t member_count, running; /* made, not ended */
    int wanted;
    int sleeping;
    bool watched, stopping;
    atomic_bool interrupted;
    int64_t away_logged_us;
};

enum job_kind { JOB_END, JOB_LOOK, JOB_BATCH, JOB_ALONE };

struct job {
    enum job_kind kind;
    struct plan *plan; /* a reference */
    struct source *source;
    const struct plan_provider *provider;
    struct feed_claim claim; /* of JOB_BATCH */
};

static void lock(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
}

static void unlock(struct pool *pool)
{
    pthread_mutex_unlock(&pool->lock);
}

/* ---- taking jobs; all under the lock ---- */

static void wait_until(pthread_cond_t *cond, struct pool *pool, int64_t mono_us)
{
    struct timespec until = {.tv_sec = mono_us / 1000000, .tv_nsec = mono_us % 1000000 * 1000};

    pthread_cond_timedwait(cond, &pool->lock, &until);
}

static void call_another(struct pool *pool)
{
    if (pool->sleeping > 0)
        pthread_cond_signal(&pool->work);
}

static void take_source(struct pool *pool, struct source *source, struct job *job)
{
    struct feed *feed = &source->feed;

    job->source = source;
    job->provider = &pool->plan->providers[source->plan_index];
    feed->running++;
    if (feed->alone_due && !(feed->ready && feed->alone_last)) {
        feed->alone_last = true;
        job->kind = JOB_ALONE;
        return;
    }
    feed->alone_last = false;
    job->kind = JOB_BATCH;
    feed_claim_begin(feed, &job->claim);
}

static bool find_job(struct pool *pool, struct job *job, int64_t now)
{
    struct source *source;

    *job = (struct job){.plan = pool->plan};
    if (schedule_look_due(&pool->schedule, now)) {
        job->kind = JOB_LOOK;
        return true;
    }
    source = schedule_pick(&pool->schedule, pool->plan, now);
    if (source)
        take_source(pool, source, job);
    return source != NULL;
}

static void sleep_until_called(struct member *member, int64_t now)
{
    struct pool *pool = member->pool;

    pool->sleeping++;
    if (now < member->pause_until) {
        wait_until(&pool->work, pool, member->pause_until);
    } else if (!pool->watched) {
        pool->watched = true;
        wait_until(&pool->work, pool, schedule_next_look(&pool->schedule));
        pool->watched = false;
    } else {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    pool->sleeping--;
}

/* The next job, with a reference to the plan; waits for one. */
static void take_job(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;

    lock(pool);
    for (;;) {
        int64_t now = clock_mono_us();

        if (pool->stopping || member->number > pool->wanted) {
            job->kind = JOB_END;
            job->plan = NULL;
            call_another(pool); /* it may have been the one that was called */
            break;
        }
        if (now >= member->pause_until && find_job(pool, job, now)) {
            plan_ref(job->plan);
            if (!pool->watched || schedule_has_more(&pool->schedule, pool->plan, now))
                call_another(pool);
            break;
        }
        sleep_until_called(member, now);
    }
    unlock(pool);
}

/* ---- the database is away ---- */

static void pause_after(struct member *member, const char *why)
{
    struct pool *pool = member->pool;
    int64_t now = clock_mono_us();

    if (member->pause_us == 0)
        member->pause_us = PAUSE_FIRST_US;
    member->pause_until = now + member->pause_us / 2 + schedule_random(member->pause_us / 2);
    member->pause_us = member->pause_us * 2 < PAUSE_MOST_US ? member->pause_us * 2 : PAUSE_MOST_US;
    if (!pool->stopping && log_may_repeat(&pool->away_logged_us, LOG_INTERVAL_US))
        log_event(LOG_WARN, "workers cannot use the database, trying again", F_TEXT("why", why));
}

/* Connected and without debts, or paused. */
static bool ready(struct member *member)
{
    struct pool *pool = member->pool;
    struct err err;
    bool ok = worker_connect(member->worker, &err) == 0;

    lock(pool);
    if (!ok)
        pause_after(member, err.text);
    else
        member->pause_us = 0;
    if (member->shut && !worker_is_in_debt(member->worker)) {
        member->shut->feed.shut--;
        member->shut->feed.alone_due = true;
        member->shut = NULL;
    }
    unlock(pool);
    return ok;
}

/* ---- looking ---- */

static void check_handlers(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;
    struct err err;
    bool checked;

    lock(pool);
    checked = pool->plan_checked || job->plan != pool->plan;
    pool->plan_checked = true;
    unlock(pool);
    if (!checked && worker_check_handlers(member->worker, job->plan, &err) < 0) {
        lock(pool);
        pool->plan_checked = false;
        unlock(pool);
    }
}

static void look(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;
    struct look look = {0};
    int64_t began = clock_mono_us();
    bool ok = ready(member);
    struct err err;

    if (ok) {
        check_handlers(member, job);
        lock(pool);
        schedule_look_begin(&pool->schedule, &look, began);
        unlock(pool);
        ok = worker_look(member->worker, look.names, look.after, look.count, look.due, &err) == 0;
    }
    lock(pool);
    schedule_look_end(&pool->schedule, &look, ok, clock_mono_us() - began);
    if (!ok && look.count > 0)
        pause_after(member, err.text);
    unlock(pool);
    look_release(&look);
}

/* ---- what came of a run ---- */

static void log_verdicts(struct pool *pool, struct source *source, const struct run *run)
{
    struct str provider = run->provider->config->name;

    for (size_t i = 0; i < run->claim.count; i++) {
        const struct verdict *verdict = &run->verdicts[i];
        const struct claimed *event = &run->claim.events[i];
        bool may_log;

        if (verdict->what == OUTCOME_DEAD) {
            log_event(LOG_WARN, "event is dead", F_STR("provider", provider),
                      F_NUM("id", event->id), F_NUM("attempt", event->attempt),
                      F_TEXT("sqlstate", verdict->sqlstate));
            continue;
        }
        if (verdict->what != OUTCOME_RETRY && verdict->what != OUTCOME_TIMEOUT)
            continue;
        lock(pool);
        may_log = log_may_repeat(&source->failure_logged_us, LOG_INTERVAL_US);
        unlock(pool);
        if (may_log)
            log_event(LOG_WARN,
                      verdict->missing ? "cannot call handler, retrying"
                                       : "could not run handler, retrying",
                      F_STR("provider", provider), F_NUM("id", event->id),
                      F_NUM("attempt", event->attempt), F_TEXT("sqlstate", verdict->sqlstate));
    }
}

static void log_lost(const struct run *run)
{
    log_event(LOG_WARN, "lost the database session while handlers ran; their events run alone now",
              F_STR("provider", run->provider->config->name), F_NUM("events", run->claim.count),
              F_TEXT("why", run->err.text));
}

static struct position before_first(const struct run *run)
{
    const struct claimed *first = &run->claim.events[0];

    return (struct position){first->run_at, first->id - 1};
}

static void put_back(struct source *source, const struct run *run)
{
    if (run->claim.count == 0)
        return;
    if (run->claim.events[0].counted)
        source->feed.alone_due = true;
    else
        feed_lower(&source->feed, before_first(run));
}

/* Under the lock. */
static void report_commit(struct job *job, const struct run *run, int64_t took_us)
{
    struct feed *feed = &job->source->feed;
    struct position next = {run->next_run_at, 0};
    bool again = false;

    for (size_t i = 0; i < run->claim.count; i++)
        again = again || run->verdicts[i].what == OUTCOME_AGAIN;
    if (job->kind == JOB_BATCH)
        feed_took(feed, run->claim.count, took_us);
    if (run->conflicts > 0)
        feed_careful(feed, run->claim.count);
    if (again)
        feed_lower(feed, next);
    else if (run->next_run_at != INT64_MAX)
        feed_expect(feed, next);
}

/* Without the lock: what could not commit as a whole. A single event is to blame for it. */
static enum run_end blame_single(struct run *run, enum run_end end)
{
    if (end != RUN_ROLLED_BACK || run->claim.count != 1)
        return end;
    return run_blame(run) == 0 ? RUN_COMMITTED : run_failed(run);
}

static void finish(struct member *member, struct job *job, struct run *run, enum run_end end,
                   int64_t took_us)
{
    struct pool *pool = member->pool;
    struct source *source = job->source;
    bool single = run->claim.count == 1, shut = false;

    end = blame_single(run, end);
    if (end == RUN_COMMITTED)
        log_verdicts(pool, source, run);
    else if (end == RUN_LOST && run->claim.count > 0)
        log_lost(run);
    lock(pool);
    if (end != RUN_ROLLED_BACK || single)
        shut = worker_owes(member->worker, run, end);
    if (shut) {
        source->feed.shut++;
        source->feed.shut_until = clock_mono_us() + SHUT_US;
        member->shut = source;
    }
    if (end == RUN_COMMITTED) {
        report_commit(job, run, took_us);
    } else {
        put_back(source, run);
        if (end == RUN_ROLLED_BACK)
            feed_careful(&source->feed, run->claim.count);
        else
            pause_after(member, run->err.text);
    }
    unlock(pool);
}

static void run_job(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    struct feed *feed = &job->source->feed;
    struct position last = POSITION_START;
    bool dead = false;
    int64_t began = clock_mono_us();
    int rc;

    rc = job->kind == JOB_BATCH ? run_claim_batch(run, job->claim.after, job->claim.limit)
                                : run_claim_alone(run, &dead);
    lock(pool);
    if (job->kind == JOB_BATCH) {
        if (rc == 0 && run->claim.count > 0) {
            const struct claimed *event = &run->claim.events[run->claim.count - 1];

            last = (struct position){event->run_at, event->id};
        }
        if (rc == 0)
            feed_claim_end(feed, &job->claim, run->claim.count, last);
        else
            feed_claim_failed(feed, &job->claim);
    } else if (rc == 0 && run->claim.count == 0) {
        feed->alone_due = false;
    }
    unlock(pool);
    if (dead)
        log_event(LOG_WARN, "event is dead, its attempts never finished",
                  F_STR("provider", run->provider->config->name),
                  F_NUM("id", run->claim.events[0].id),
                  F_NUM("attempt", run->claim.events[0].attempt));
    else if (rc < 0)
        finish(member, job, run, run_failed(run), 0);
    else if (run->claim.count > 0)
        finish(member, job, run, run_finish(run), clock_mono_us() - began);
}

static void work(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;
    struct feed *feed = &job->source->feed;

    if (ready(member)) {
        struct run run;

        worker_begin(member->worker, job->provider, &run);
        run_job(member, job, &run);
        run_release(&run);
        lock(pool);
    } else {
        lock(pool);
        if (job->kind == JOB_BATCH)
            feed_claim_failed(feed, &job->claim);
    }
    feed->running--;
    unlock(pool);
}

/* ---- threads ---- */

static void *thread_main(void *argument)
{
    struct member *member = argument;
    struct pool *pool = member->pool;
    struct job job;

    for (;;) {
        take_job(member, &job);
        if (job.kind == JOB_END)
            break;
        if (job.kind == JOB_LOOK)
            look(member, &job);
        else
            work(member, &job);
        plan_unref(job.plan);
    }
    if (worker_is_in_debt(member->worker))
        ready(member);
    worker_disconnect(member->worker);
    lock(pool);
    member->ended = true;
    pool->running--;
    pthread_cond_broadcast(&pool->end);
    unlock(pool);
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

struct pool *pool_new(const struct config *config)
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
    schedule_set_plan(&pool->schedule, pool->plan);
    lock(pool);
    pool->wanted = config->workers;
    start_threads(pool);
    unlock(pool);
    return pool;
}

void pool_notify(struct pool *pool, struct str provider, enum work_class class, int64_t run_at)
{
    struct source *source;

    if (class != WORK_SQL)
        return;
    lock(pool);
    source = schedule_find(&pool->schedule, provider);
    if (source) {
        feed_lower(&source->feed, (struct position){run_at, 0});
        call_another(pool);
    }
    unlock(pool);
}

void pool_reload(struct pool *pool, const struct config *config)
{
    struct plan *old, *plan = plan_new(config);

    lock(pool);
    old = pool->plan;
    pool->plan = plan;
    pool->plan_checked = false;
    schedule_set_plan(&pool->schedule, plan);
    pool->wanted = config->workers;
    if (!pool->stopping)
        start_threads(pool);
    pthread_cond_broadcast(&pool->work);
    unlock(pool);
    plan_unref(old);
}

void pool_stop(struct pool *pool, int64_t timeout_ms)
{
    int64_t deadline = clock_mono_us() + timeout_ms * 1000;

    lock(pool);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    while (pool->running > 0 && clock_mono_us() < deadline)
        wait_until(&pool->end, pool, deadline);
    while (pool->running > 0) {
        atomic_store(&pool->interrupted, true);
        for (size_t i = 0; i < pool->member_count; i++) {
            struct member *member = pool->members[i];

            if (!member->ended) {
                unlock(pool);
                worker_interrupt(member->worker);
                lock(pool);
            }
        }
        wait_until(&pool->end, pool, clock_mono_us() + INTERRUPT_EVERY_US);
    }
    unlock(pool);
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
    schedule_release(&pool->schedule);
    plan_unref(pool->plan);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->end);
    free(pool);
}
