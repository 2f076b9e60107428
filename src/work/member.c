/* A thread whose database is away pauses, longer each time; one that comes back pays first what it
 * owes (work/worker.h). */
#include "base/clock.h"
#include "base/log.h"
#include "work/pool_state.h"

#define PAUSE_FIRST_US (100 * 1000)
#define PAUSE_MOST_US (1000 * 1000)

void member_pause(struct member *member, const char *why)
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

bool member_ready(struct member *member)
{
    struct pool *pool = member->pool;
    struct err err;
    bool ok = worker_connect(member->worker, &err) == 0;

    pool_lock(pool);
    if (!ok)
        member_pause(member, err.text);
    else
        member->pause_us = 0;
    if (member->shut && !worker_is_in_debt(member->worker)) {
        member->shut->shut--;
        member->shut->alone_due = true;
        member->shut = NULL;
    }
    if (member->returns && !worker_is_in_debt(member->worker)) {
        feed_lower(member->returns, (struct position){member->returns_at, 0});
        member->returns = NULL;
    }
    pool_unlock(pool);
    return ok;
}
