/* The first round trip of a batch: BEGIN, the claim, and what handlers run under. */
#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "work/run_parts.h"
#include "work/verdict.h"

#define CLAIM_TIMEOUT_MS 60000
#define ALONE_AGAIN_MS 2000
#define LONGEST_MS (INT_MAX - SERVER_GRACE_MS)

static const char claim_settings[] = "select set_config('enable_seqscan', 'off', true),"
                                     " set_config('plan_cache_mode', 'force_generic_plan', true)";
static const char handler_settings[] =
    "select set_config('enable_seqscan', null, true), set_config('plan_cache_mode', null, true),"
    " set_config('statement_timeout', $1, true)";

int run_timeout_ms(const struct run *run)
{
    int64_t configured = run->provider->config->timeout_ms;

    return configured < LONGEST_MS ? (int)configured : LONGEST_MS;
}

int run_send_handler_settings(struct run *run)
{
    char timeout[24];

    snprintf(timeout, sizeof(timeout), "%d", run_timeout_ms(run));
    db_args_clear(run->args);
    db_args_text(run->args, str_from(timeout));
    return db_send_text(run->db, handler_settings, run->args, &run->err);
}

/* After a reload, or a replay, a row may have a class that does not fit: it is put back with the
 * right one, which is no attempt. Applications do not look at who runs alone: each of their claims
 * counts as an attempt. */
static void check_class(struct run *run, size_t i)
{
    struct claimed *event = &run->claim.events[i];
    enum work_class class = plan_find(run->provider, event->event_type)->route->class;

    if (class == event->class)
        return;
    event->class = class;
    verdict_untouched(&run->verdicts[i]);
    run->verdicts[i].suspect = event->counted && class != WORK_PULL;
}

int run_claimed(struct run *run)
{
    if (!run->verdicts)
        run->verdicts = mem_alloc((run->claim.count + 1) * sizeof(*run->verdicts));
    for (size_t i = 0; i < run->claim.count; i++) {
        verdict_release(&run->verdicts[i]);
        verdict_done(&run->verdicts[i]);
        check_class(run, i);
    }
    if (run->claim.count == 0)
        run_abandon(run);
    else if (fault("work.after_claim")) {
        run_abandon(run);
        run->fault = DB_FAULT_OTHER;
        return err_set(&run->err, ERR_AGAIN, "fault work.after_claim");
    }
    return 0;
}

int run_claim_batch(struct run *run, struct position after, int limit)
{
    struct str provider = run->provider->config->name;
    struct db_result *rows = NULL;

    run->next_run_at = INT64_MAX;
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (db_pipeline_begin(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        db_send_text(run->db, claim_settings, NULL, &run->err) < 0 ||
        claim_send(run->db, run->args, provider, after, limit, &run->err) < 0 ||
        run_send_handler_settings(run) < 0 || db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0 || run_expect(run, &rows) < 0 ||
        run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    claim_read(&run->claim, rows);
    return run_claimed(run);
}

int run_take_alone(struct run *run)
{
    struct db_result *rows = NULL;

    if (db_pipeline_begin(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        claim_alone_take(run->db, run->args, &run->claim.events[0], &run->err) < 0 ||
        run_send_handler_settings(run) < 0 || db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (run_expect(run, NULL) < 0 || run_expect(run, &rows) < 0 || run_expect(run, NULL) < 0 ||
        run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    if (db_rows(rows) == 0)
        run->claim.count = 0;
    db_result_free(rows);
    return run_claimed(run);
}

int run_claim_alone(struct run *run, bool *dead)
{
    const struct provider_config *config = run->provider->config;
    int64_t backoff = backoff_delay_ms(&config->backoff, 1, run_random());
    /* Time for its second transaction to begin, before another worker thinks that we died. */
    int64_t due_again = backoff > ALONE_AGAIN_MS ? backoff : ALONE_AGAIN_MS;

    *dead = false;
    run->next_run_at = INT64_MAX;
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (claim_alone(run->db, run->args, config->name, WORK_SQL, config->attempts, due_again,
                    run->worker, &run->claim, dead, &run->err) < 0) {
        run_note_failure(run);
        return -1;
    }
    if (run->claim.count == 0 || *dead)
        return 0;
    return run_take_alone(run);
}
