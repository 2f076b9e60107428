/* One thread at a time looks, every 100 to 250 ms: now at the cursors, now five seconds behind
 * them, seldom over everything, since that walks over whatever an old snapshot keeps. Where one
 * hangs, since its connection is dead and nobody said so, the next one looks meanwhile. */
#include "work/look.h"

#include "base/clock.h"

static void check_handlers(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;
    struct err err;
    bool checked;

    pool_lock(pool);
    /* A look that began before a reload leaves the new plan to the next one. */
    checked = pool->plan_checked || job->plan != pool->plan;
    if (!checked)
        pool->plan_checked = true;
    pool_unlock(pool);
    if (!checked && worker_check_handlers(member->worker, job->plan, &err) < 0) {
        pool_lock(pool);
        pool->plan_checked = false;
        pool_unlock(pool);
    }
}

void look_do(struct member *member, struct job *job)
{
    struct pool *pool = member->pool;
    struct look look = {0};
    int64_t began = clock_mono_us();
    bool ok = member_ready(member);
    struct err err;

    if (ok) {
        check_handlers(member, job);
        pool_lock(pool);
        schedule_look_begin(&pool->schedule, &look, began);
        pool_unlock(pool);
        ok = worker_look(member->worker, &look, &err) == 0;
    }
    pool_lock(pool);
    schedule_look_end(&pool->schedule, &look, ok, clock_mono_us() - began);
    if (!ok && look.count > 0)
        member_pause(member, err.text);
    pool_unlock(pool);
    look_release(&look);
}
