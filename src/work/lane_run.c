/* The transactions of a claim of lanes. The rows of `work` are there until the end of each, under
 * the lease; that they are removed by the holder of the lease, and by nobody else, is what makes
 * the effect happen once. */
#include "work/lane_run.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "work/run_parts.h"

#define CLAIM_TIMEOUT_MS 60000
#define HOLD_US (100 * 1000) /* then the lanes go to whoever wants them */
#define ALONE_AGAIN_MS 2000

static const char claim_settings[] = "select set_config('enable_seqscan', 'off', true),"
                                     " set_config('plan_cache_mode', 'force_generic_plan', true)";

static bool is_strict(const struct run *run)
{
    return run->provider->config->order == ORDER_STRICT;
}

/* ---- the claim ---- */

static void set_terms(struct run *run, const struct feed_claim *claim, bool suspect)
{
    const struct provider_config *config = run->provider->config;
    int64_t backoff = backoff_delay_ms(&config->backoff, 1, run_random());
    int64_t due_again = backoff > ALONE_AGAIN_MS ? backoff : ALONE_AGAIN_MS;

    run->lanes->terms = (struct lane_terms){
        .provider = config->name,
        .worker = run->worker,
        .after = claim->after,
        .limit = claim->limit,
        .events = claim->fitting,
        .suspects = suspect ? 1 : 0,
        .lease_s = (double)config->lease_ms / 1000,
        .attempts = config->attempts,
        .due_again_s = (double)due_again / 1000,
        .serial = !is_strict(run),
    };
}

static int send_claim(struct run *run)
{
    const struct lane_terms *terms = &run->lanes->terms;

    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        db_send_text(run->db, claim_settings, NULL, &run->err) < 0 ||
        lane_send_claim(run->db, run->args, terms, &run->err) < 0 ||
        lane_send_take(run->db, run->args, terms, &run->err) < 0 ||
        db_send_text(run->db, "COMMIT", NULL, &run->err) < 0)
        return -1;
    return db_sync(run->db, &run->err);
}

int lane_run_claim(struct run *run, const struct feed_claim *claim, bool suspect)
{
    struct db_result *found = NULL, *taken = NULL;

    set_terms(run, claim, suspect);
    run->next_run_at = INT64_MAX;
    run->lanes->claimed_us = run->lanes->alive_us = clock_mono_us();
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (db_pipeline_begin(run->db, &run->err) < 0 || send_claim(run) < 0)
        return run_fail(run, true);
    if (run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0 || run_expect(run, &found) < 0 ||
        run_expect(run, &taken) < 0 || run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(found);
        db_result_free(taken);
        return run_fail(run, false);
    }
    lanes_read(&run->lanes->lanes, found, taken);
    db_result_free(found);
    run->verdicts = mem_alloc((CLAIM_MAX + 1) * sizeof(*run->verdicts));
    run_abandon(run);
    (void)fault("work.after_claim");
    return 0;
}

bool lane_run_has_counted(const struct run *run)
{
    const struct claim *claim = &run->lanes->lanes.claim;

    for (size_t i = 0; i < claim->count; i++)
        if (claim->events[i].counted)
            return true;
    return false;
}

bool lane_run_has_time(const struct run *run)
{
    int64_t quiet_ms = (clock_mono_us() - run->lanes->alive_us) / 1000;

    return quiet_ms < run->provider->config->lease_ms * 2 / 3;
}

int64_t lane_run_until(const struct run *run)
{
    int64_t each_ms = run_timeout_ms(run), events = (int64_t)run->claim.count;

    return clock_mono_us() + (each_ms * events + SERVER_GRACE_MS) * 1000;
}

/* ---- the next transaction ---- */

static struct lane *lane_at(struct lanes *lanes, size_t event)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (event >= lanes->list[i].begin && event < lanes->list[i].end)
            return &lanes->list[i];
    return NULL;
}

/* A lane that was stopped is released, whatever is left of it. */
static void skip_released(struct lane_run *lr)
{
    struct lane *lane;

    while (lr->at < lr->lanes.claim.count) {
        lane = lane_at(&lr->lanes, lr->at);
        if (!lane || !lane->released)
            return;
        lr->at = lane->end;
    }
}

/* What may kill the process runs alone, and so does what runs outside of the transaction. */
static size_t window(const struct lane_run *lr)
{
    const struct claim *claim = &lr->lanes.claim;
    size_t most = lr->terms.limit < CLAIM_MAX ? (size_t)lr->terms.limit : CLAIM_MAX, n = 0;

    while (lr->at + n < claim->count && n < most) {
        const struct claimed *event = &claim->events[lr->at + n];

        if (event->counted || event->class != WORK_SQL)
            return n > 0 ? n : 1;
        n++;
    }
    return n;
}

static bool all_released(const struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (!lanes->list[i].released)
            return false;
    return true;
}

/* After a reload, or a replay, a row may have a class that does not fit: it is put back with the
 * right one, which is no attempt, and the others of its key come after it. What an application
 * claims has no lane. */
static void check_class(struct run *run, size_t i)
{
    struct claimed *event = &run->claim.events[i];
    enum work_class class = plan_find(run->provider, event->event_type)->route->class;

    if (class == event->class && class != WORK_PULL)
        return;
    verdict_release(&run->verdicts[i]);
    verdict_untouched(&run->verdicts[i]);
    run->verdicts[i].suspect = event->counted;
    run->verdicts[i].aside = event->aside;
    for (size_t n = i + 1; n < run->claim.count; n++)
        if (str_equal(run->claim.events[n].lane, event->lane))
            run_leave(run, n);
    event->class = class;
    if (class == WORK_PULL) {
        event->lane = STR_NONE;
        run->verdicts[i].aside = ASIDE_NO;
        run->verdicts[i].suspect = false;
    }
}

static void drop_verdicts(struct run *run)
{
    for (size_t i = 0; i < run->claim.count; i++)
        verdict_release(&run->verdicts[i]);
    verdict_release(&run->blame);
    run->claim = (struct claim){0};
}

bool lane_run_open(struct run *run)
{
    struct lane_run *lr = run->lanes;

    drop_verdicts(run);
    if (all_released(&lr->lanes))
        return false;
    skip_released(lr);
    run->claim.events = lr->lanes.claim.events + lr->at;
    run->claim.count = window(lr);
    for (size_t i = 0; i < run->claim.count; i++)
        verdict_done(&run->verdicts[i]);
    for (size_t i = 0; i < run->claim.count; i++)
        check_class(run, i);
    lr->last = lr->at + run->claim.count == lr->lanes.claim.count ||
               clock_mono_us() - lr->claimed_us > HOLD_US;
    lr->next = (struct lane_next){INT64_MAX, false};
    run->next = run->conflicts = run->redone = 0;
    run->savepoint_failed = run->entered = false;
    run->opens = true;
    return true;
}

void lane_run_committed(struct run *run)
{
    struct lane_run *lr = run->lanes;

    for (size_t i = 0; i < lr->lanes.count; i++) {
        struct lane *lane = &lr->lanes.list[i];

        if (lane->touched)
            lane->settled = lane->reached;
        lane->released = lane->released || lane->ends;
        lane->touched = lane->ends = lane->done = false;
    }
    lr->at += run->claim.count;
    lr->alive_us = clock_mono_us();
}

/* ---- an event failed ---- */

static void judge(const struct run *run, const struct claimed *event, struct verdict *verdict)
{
    bool passed = event->aside != ASIDE_NO || !is_strict(run);

    switch (verdict->what) {
    case OUTCOME_DEFER:
        verdict->aside = ASIDE_DEFER;
        break;
    case OUTCOME_RETRY:
    case OUTCOME_TIMEOUT:
        verdict->aside = passed ? ASIDE_RETRY : ASIDE_NO;
        break;
    case OUTCOME_AGAIN:
        verdict->stays = !event->counted;
        verdict->aside = passed ? ASIDE_RETRY : ASIDE_NO;
        break;
    case OUTCOME_DONE:
    case OUTCOME_DEAD:
    case OUTCOME_STALE:
    case OUTCOME_SUPERSEDED:
        break;
    }
}

/* Whether those behind it have to wait for it. */
static bool holds_up(const struct claimed *event, const struct verdict *verdict)
{
    if (event->aside != ASIDE_NO)
        return false;
    switch (verdict->what) {
    case OUTCOME_DEFER:
    case OUTCOME_RETRY:
    case OUTCOME_TIMEOUT:
    case OUTCOME_AGAIN:
        return verdict->stays || verdict->aside == ASIDE_NO;
    case OUTCOME_DONE:
    case OUTCOME_DEAD:
    case OUTCOME_STALE:
    case OUTCOME_SUPERSEDED:
        break;
    }
    return false;
}

void lane_run_failed(struct run *run, size_t i)
{
    const struct claimed *event = &run->claim.events[i];

    judge(run, event, &run->verdicts[i]);
    if (!holds_up(event, &run->verdicts[i]))
        return;
    while (++i < run->claim.count && str_equal(run->claim.events[i].lane, event->lane))
        run_leave(run, i);
}

/* ---- the end of a transaction ---- */

/* What was deferred before another event of its key was done is tried again at once. */
static void wake_earlier(struct run *run, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (run->verdicts[i].what == OUTCOME_DEFER)
            run->verdicts[i].delay_s = 0;
}

static void close_lane(struct run *run, struct lane *lane)
{
    size_t at = run->lanes->at, end = at + run->claim.count;
    size_t from = lane->begin > at ? lane->begin : at, to = lane->end < end ? lane->end : end;

    lane->ends = run->lanes->last || lane->end <= end;
    lane->touched = lane->ends || from < to;
    lane->done = false;
    lane->reached = lane->settled;
    for (size_t i = from; i < to; i++) {
        const struct claimed *event = &run->claim.events[i - at];
        const struct verdict *verdict = &run->verdicts[i - at];

        if (holds_up(event, verdict)) {
            lane->ends = true;
            break;
        }
        if (verdict->what == OUTCOME_DONE) {
            lane->done = true;
            wake_earlier(run, from - at, i - at);
        }
        if (event->aside == ASIDE_NO)
            lane->reached = event->id;
    }
}

int lane_run_send_settle(struct run *run)
{
    struct lanes *lanes = &run->lanes->lanes;

    for (size_t i = 0; i < lanes->count; i++)
        if (!lanes->list[i].released)
            close_lane(run, &lanes->list[i]);
    return lane_send_settle(run->db, run->args, run->provider->config->name, lanes,
                            run->claim.events, run->verdicts, run->claim.count, &run->err);
}

int lane_run_send_next(struct run *run)
{
    struct lanes *lanes = &run->lanes->lanes;
    bool any = false;

    for (size_t i = 0; i < lanes->count; i++)
        any = any || lanes->list[i].ends;
    if (!any)
        return 0;
    return lane_send_next(run->db, run->args, run->provider->config->name, lanes, &run->err) < 0
               ? -1
               : 1;
}

void lane_run_read_next(struct run *run, const struct db_result *rows)
{
    run->lanes->next = lane_next_read(rows);
}

void lane_run_take_blame(struct run *run)
{
    struct verdict blame = run->blame;

    run->blame = (struct verdict){0};
    verdict_release(&run->verdicts[0]);
    run->verdicts[0] = blame;
    judge(run, &run->claim.events[0], &run->verdicts[0]);
    run->next = run->claim.count;
    run->savepoint_failed = false;
    run->opens = true;
}
