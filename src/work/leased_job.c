/* See leased_job.h: from the claim to the report. */
#include "work/leased_job.h"

#include "base/clock.h"
#include "base/log.h"
#include "work/batch_job.h"
#include "work/leased.h"

static void log_lapsed(const struct run *run, size_t lapsed)
{
    log_event(LOG_WARN, "leases ran out unsettled; their events run alone now",
              F_STR("provider", run->provider->config->name), F_NUM("events", lapsed));
}

static int claim_batch(struct job *job, struct run *run, struct pool *pool)
{
    struct feed *feed = job->feed;
    struct lease_claim claimed;
    int rc = leased_claim_batch(run, job->claim.after, job->claim.limit, &claimed);

    pool_lock(pool);
    if (rc == 0)
        feed_claim_end(feed, &job->claim, claimed.rows,
                       claimed.rows > 0 ? claimed.last : POSITION_START);
    else
        feed_claim_failed(feed, &job->claim);
    if (claimed.lapsed > 0)
        feed->alone_due = true;
    pool_unlock(pool);
    if (rc == 0 && claimed.lapsed > 0)
        log_lapsed(run, claimed.lapsed);
    return rc;
}

static int claim_single(struct job *job, struct run *run, struct pool *pool, bool *dead)
{
    int rc = leased_claim_alone(run, dead);

    pool_lock(pool);
    if (rc == 0 && run->claim.count == 0)
        job->feed->alone_due = false;
    pool_unlock(pool);
    if (*dead) {
        log_event(LOG_WARN, "event is dead, its attempts never finished",
                  F_STR("provider", run->provider->config->name),
                  F_NUM("id", run->claim.events[0].id),
                  F_NUM("attempt", run->claim.events[0].attempt));
        run->claim.count = 0;
    }
    return rc;
}

/* Under the lock. */
static void report(struct job *job, const struct run *run, const struct leased_end *end)
{
    struct feed *feed = job->feed;
    struct position next = {run->next_run_at, 0};
    bool again = false, alone = false;

    for (size_t i = 0; i < run->claim.count; i++) {
        again = again || run->verdicts[i].what == OUTCOME_AGAIN;
        alone = alone || (run->verdicts[i].suspect && run->verdicts[i].what == OUTCOME_AGAIN);
    }
    if (job->kind == JOB_BATCH && end->ran > 0)
        feed_took(feed, end->ran, end->took_us);
    if (run->conflicts > 0)
        feed_careful(feed, run->claim.count);
    if (again && run->next_run_at != INT64_MAX)
        feed_lower(feed, next);
    else if (run->next_run_at != INT64_MAX)
        feed_expect(feed, next);
    if (alone)
        feed->alone_due = true;
}

static void finish(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    struct leased_end end;

    leased_finish(run, pool->leases, &end);
    batch_job_log(pool, job->source, run);
    worker_owes_leases(member->worker, end.owed, end.owed_count, end.suspect);
    pool_lock(pool);
    report(job, run, &end);
    if (end.end == RUN_UNAVAILABLE || end.end == RUN_LOST)
        member_pause(member, run->err.text);
    pool_unlock(pool);
}

static void run_job(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    bool dead = false;
    int rc =
        job->kind == JOB_BATCH ? claim_batch(job, run, pool) : claim_single(job, run, pool, &dead);

    if (rc == 0 && run->claim.count > 0) {
        finish(member, job, run);
    } else if (rc < 0) {
        pool_lock(pool);
        member_pause(member, run->err.text);
        pool_unlock(pool);
    }
}

void leased_job_do(struct member *member, struct job *job)
{
    batch_job_with(member, job, run_job);
}
