/* See lane_job.h: from the claim to the report. */
#include "work/lane_job.h"

#include "base/clock.h"
#include "base/log.h"
#include "work/batch_job.h"
#include "work/coalesce.h"
#include "work/lane_run.h"
#include "work/leased.h"
#include "work/leases.h"

static void log_claim(const struct run *run)
{
    const struct lanes *lanes = &run->lanes->lanes;
    struct str provider = run->provider->config->name;

    if (lanes->lapsed > 0)
        log_event(LOG_WARN,
                  "leases of keys ran out: their worker died, froze or lost the database; what may "
                  "have been running runs alone now",
                  F_STR("provider", provider), F_NUM("keys", lanes->lapsed));
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].dead_id)
            log_event(LOG_WARN, "event is dead, its attempts never finished",
                      F_STR("provider", provider), F_NUM("id", lanes->list[i].dead_id),
                      F_NUM("attempt", lanes->list[i].dead_attempt));
}

static void log_taken_over(const struct run *run)
{
    log_event(LOG_WARN,
              "a lease ran out before its events were done; others have them, nothing was changed",
              F_STR("provider", run->provider->config->name), F_NUM("events", run->claim.count));
}

/* Under the lock. */
static void report_claim(struct job *job, const struct lanes *lanes, bool ok)
{
    if (!ok) {
        feed_claim_failed(job->feed, &job->claim);
        return;
    }
    feed_claim_end(job->feed, &job->claim, lanes->found, lanes->last);
    if (lanes->lapsed > 0)
        feed_lower(job->feed, (struct position){lanes->now, 0});
}

/* Under the lock. */
static void report_commit(struct job *job, const struct run *run, int64_t took_us)
{
    const struct lane_next *next = &run->lanes->next;
    struct position position = {next->ready_at, 0};

    feed_took(job->feed, run->claim.count, took_us);
    if (run->conflicts > 0)
        feed_careful(job->feed, run->claim.count);
    if (next->due)
        feed_lower(job->feed, position);
    else if (next->ready_at != INT64_MAX)
        feed_expect(job->feed, position);
}

/* One transaction. False: the rest is not run. */
static bool run_next(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    int64_t began = clock_mono_us();
    enum run_end end = RUN_TAKEN_OVER;

    if (lane_run_has_time(run)) {
        coalesce(run);
        leased_lane_event(run);
        end = batch_job_blame(run, run_finish(run));
    }
    if (end == RUN_COMMITTED) {
        lane_run_committed(run);
        batch_job_log(pool, job->source, run);
        pool_lock(pool);
        report_commit(job, run, clock_mono_us() - began);
        pool_unlock(pool);
        return true;
    }
    if (end == RUN_LOST)
        batch_job_log_lost(run);
    else if (end == RUN_TAKEN_OVER)
        log_taken_over(run);
    pool_lock(pool);
    (void)worker_owes(member->worker, run, end);
    member->returns = job->feed;
    member->returns_at = run->lanes->lanes.now;
    if (end == RUN_ROLLED_BACK)
        feed_careful(job->feed, run->claim.count);
    else if (end != RUN_TAKEN_OVER)
        member_pause(member, run->err.text);
    pool_unlock(pool);
    return false;
}

static void run_claim(struct member *member, struct job *job, struct run *run)
{
    struct pool *pool = member->pool;
    struct lease_hold hold;
    bool ok = lane_run_claim(run, &job->claim, job->alone) == 0;

    pool_lock(pool);
    report_claim(job, &run->lanes->lanes, ok);
    if (!ok || !lane_run_has_counted(run))
        job_alone_end(pool, job);
    if (!ok && run_failed(run) != RUN_ROLLED_BACK)
        member_pause(member, run->err.text);
    pool_unlock(pool);
    if (!ok)
        return;
    log_claim(run);
    if (run->lanes->lanes.count == 0)
        return;
    leases_hold_lanes(pool->leases, &hold, job->provider->config->name, &run->lanes->lanes,
                      job->provider->config->lease_ms, lane_run_until(run));
    while (lane_run_open(run)) {
        leases_keep(pool->leases, &hold, lane_run_until(run));
        if (!run_next(member, job, run))
            break;
    }
    leases_drop(pool->leases, &hold);
}

void lane_job_do(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;

    if (member_ready(member)) {
        struct lane_run lanes = {0};
        struct run run;

        worker_begin(member->worker, job->provider, &run);
        run.lanes = &lanes;
        run_claim(member, job, &run);
        run_release(&run);
        lanes_release(&lanes.lanes);
        pool_lock(pool);
    } else {
        pool_lock(pool);
        feed_claim_failed(job->feed, &job->claim);
    }
    job_end(pool, job);
    pool_unlock(pool);
}
