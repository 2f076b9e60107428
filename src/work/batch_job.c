/* See batch_job.h: from the claim to the report. */
#include "work/batch_job.h"

#include "base/clock.h"
#include "base/log.h"

#define SHUT_US (10 * 1000 * 1000)

/* Only what the database refused has one. */
static struct log_field sqlstate_of(const struct verdict *verdict)
{
    return F_STR("sqlstate", verdict->sqlstate[0] ? str_from(verdict->sqlstate) : STR_NONE);
}

void batch_job_log(struct pool *pool, struct source *source, const struct run *run)
{
    struct str provider = run->provider->config->name;

    for (size_t i = 0; i < run->claim.count; i++) {
        const struct verdict *verdict = &run->verdicts[i];
        const struct claimed *event = &run->claim.events[i];
        bool may_log;

        if (verdict->what == OUTCOME_DEAD) {
            log_event(LOG_WARN, "event is dead", F_STR("provider", provider),
                      F_NUM("id", event->id), F_NUM("attempt", event->attempt),
                      sqlstate_of(verdict));
            continue;
        }
        if (verdict->what != OUTCOME_RETRY && verdict->what != OUTCOME_TIMEOUT)
            continue;
        pool_lock(pool);
        may_log = log_may_repeat(&source->failure_logged_us, LOG_INTERVAL_US);
        pool_unlock(pool);
        if (may_log)
            log_event(LOG_WARN,
                      verdict->missing ? "cannot call handler, retrying"
                                       : "handler failed, retrying",
                      F_STR("provider", provider), F_NUM("id", event->id),
                      F_NUM("attempt", event->attempt), sqlstate_of(verdict));
    }
}

void batch_job_log_lost(const struct run *run)
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

static void put_back(struct feed *feed, const struct run *run)
{
    if (run->claim.count == 0)
        return;
    if (run->claim.events[0].counted)
        feed->alone_due = true;
    else
        feed_lower(feed, before_first(run));
}

/* Under the lock. */
static void report_commit(struct job *job, const struct run *run, int64_t took_us)
{
    struct feed *feed = job->feed;
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

enum run_end batch_job_blame(struct run *run, enum run_end end)
{
    if (end != RUN_ROLLED_BACK || run->claim.count != 1)
        return end;
    return run_blame(run) == 0 ? RUN_COMMITTED : run_failed(run);
}

static void finish(struct member *member, struct job *job, struct run *run, enum run_end end,
                   int64_t took_us)
{
    struct pool *pool = member->pool;
    struct feed *feed = job->feed;
    bool single = run->claim.count == 1, shut = false;

    end = batch_job_blame(run, end);
    if (end == RUN_COMMITTED)
        batch_job_log(pool, job->source, run);
    else if (end == RUN_LOST && run->claim.count > 0)
        batch_job_log_lost(run);
    pool_lock(pool);
    if (end != RUN_ROLLED_BACK || single)
        shut = worker_owes(member->worker, run, end);
    if (shut) {
        feed->shut++;
        feed->shut_until = clock_mono_us() + SHUT_US;
        member->shut = feed;
    }
    if (end == RUN_COMMITTED) {
        report_commit(job, run, took_us);
    } else {
        put_back(feed, run);
        if (end == RUN_ROLLED_BACK)
            feed_careful(feed, run->claim.count);
        else
            member_pause(member, run->err.text);
    }
    pool_unlock(pool);
}

static void run_job(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    struct feed *feed = job->feed;
    struct position last = POSITION_START;
    bool dead = false;
    int64_t began = clock_mono_us();
    int rc;

    rc = job->kind == JOB_BATCH ? run_claim_batch(run, job->claim.after, job->claim.limit)
                                : run_claim_alone(run, &dead);
    pool_lock(pool);
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
    pool_unlock(pool);
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

void batch_job_with(struct member *member, struct job *job,
                    void (*body)(struct member *member, struct job *job, struct run *run))
{
    struct pool *pool = member->pool;

    if (member_ready(member)) {
        struct run run;

        worker_begin(member->worker, job->provider, &run);
        body(member, job, &run);
        run_release(&run);
        pool_lock(pool);
    } else {
        pool_lock(pool);
        if (job->kind == JOB_BATCH)
            feed_claim_failed(job->feed, &job->claim);
    }
    job_end(pool, job);
    pool_unlock(pool);
}

void batch_job_do(struct member *member, struct job *job)
{
    batch_job_with(member, job, run_job);
}
