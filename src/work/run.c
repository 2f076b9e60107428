/* The transaction of a batch. The first round trip claims. The second sends everything at once, as
 * if nothing could fail: for each event a savepoint and its handler, then the outcomes and COMMIT.
 * When an event fails, the server skips what was sent behind it; then its savepoint is rolled back
 * to, and the rest is sent again in sections that begin with one event and double.
 *
 * Whatever goes wrong with the transaction itself ends in a rollback that costs nothing: the claim
 * was a DELETE of it. */
#include "work/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "work/verdict.h"

#define SERVER_GRACE_MS 10000 /* beyond `timeout`, before the connection is given up */
#define CLAIM_TIMEOUT_MS 60000
#define ALONE_AGAIN_MS 2000
#define LONGEST_MS (INT_MAX - SERVER_GRACE_MS)

static const char claim_settings[] = "select set_config('enable_seqscan', 'off', true),"
                                     " set_config('plan_cache_mode', 'force_generic_plan', true)";
static const char handler_settings[] =
    "select set_config('enable_seqscan', null, true), set_config('plan_cache_mode', null, true),"
    " set_config('statement_timeout', $1, true)";
static const char settle_settings[] = "select set_config('statement_timeout', '0', true)";

static uint64_t random_bits(void)
{
    uint64_t bits;

    arc4random_buf(&bits, sizeof(bits));
    return bits;
}

/* ---- answers ---- */

/* The answer to a statement of ours that must not fail. 0, or -1 with the failure noted. */
static int expect(struct run *run, struct db_result **result)
{
    switch (db_receive(run->db, result, &run->err)) {
    case DB_ROWS:
    case DB_SYNCED:
        return 0;
    case DB_FAILED:
    case DB_GONE:
    case DB_SKIPPED:
        break;
    }
    return -1;
}

static void note_failure(struct run *run)
{
    run->fault = db_fault(run->db);
    snprintf(run->sqlstate, sizeof(run->sqlstate), "%s", db_sqlstate(run->db));
}

static struct failure failure_of(const struct run *run)
{
    return (struct failure){
        .sqlstate = db_sqlstate(run->db),
        .message = db_message(run->db),
        .detail = db_detail(run->db),
        .context = db_context(run->db),
        .fault = db_fault(run->db),
        .took_s = (double)(clock_mono_us() - run->section_us) / 1e6,
        .took_exactly = run->section_size <= 1,
    };
}

/* Reads on to the end of the section, so that the connection can be used again. */
static void drain(struct run *run)
{
    enum db_answer answer;

    do
        answer = db_receive(run->db, NULL, NULL);
    while (answer != DB_SYNCED && answer != DB_GONE);
}

/* Leaves the pipeline and the transaction. */
static void abandon(struct run *run)
{
    struct err ignored;

    if (!db_connected(run->db))
        return;
    if (db_pipeline_end(run->db, &ignored) < 0 ||
        (db_in_transaction(run->db) && db_exec(run->db, "ROLLBACK", &ignored) < 0))
        db_disconnect(run->db);
}

/* The transaction as a whole failed: by the statement whose answer was read last. */
static int fail(struct run *run, bool drained)
{
    note_failure(run);
    if (run->claim.count == 1) {
        struct failure failure = failure_of(run);

        verdict_release(&run->blame);
        verdict_of_failure(run->provider->config, &run->claim.events[0], &failure, random_bits(),
                           &run->blame);
    }
    if (!drained && db_connected(run->db))
        drain(run);
    abandon(run);
    return -1;
}

enum run_end run_failed(struct run *run)
{
    if (atomic_load(run->interrupted))
        return RUN_INTERRUPTED;
    switch (run->fault) {
    case DB_FAULT_LOST:
        return RUN_LOST;
    case DB_FAULT_UNAVAILABLE:
        /* Ended by an administrator, or by the handler itself. */
        return strcmp(run->sqlstate, "57P01") == 0 ? RUN_LOST : RUN_UNAVAILABLE;
    case DB_FAULT_NONE:
    case DB_FAULT_LOCKED:
    case DB_FAULT_CONFLICT:
    case DB_FAULT_CANCELED:
    case DB_FAULT_STALE_PLAN:
    case DB_FAULT_NO_PARTITION:
    case DB_FAULT_DATA:
    case DB_FAULT_SCHEMA:
    case DB_FAULT_OTHER:
        break;
    }
    return RUN_ROLLED_BACK;
}

/* ---- claiming ---- */

static int timeout_ms(const struct run *run)
{
    int64_t configured = run->provider->config->timeout_ms;

    return configured < LONGEST_MS ? (int)configured : LONGEST_MS;
}

static int send_handler_settings(struct run *run)
{
    char timeout[24];

    snprintf(timeout, sizeof(timeout), "%d", timeout_ms(run));
    db_args_clear(run->args);
    db_args_text(run->args, str_from(timeout));
    return db_send_text(run->db, handler_settings, run->args, &run->err);
}

static int finish_claim(struct run *run)
{
    if (!run->verdicts)
        run->verdicts = mem_alloc((run->claim.count + 1) * sizeof(*run->verdicts));
    for (size_t i = 0; i < run->claim.count; i++) {
        verdict_release(&run->verdicts[i]);
        verdict_done(&run->verdicts[i]);
    }
    if (run->claim.count == 0)
        abandon(run);
    else if (fault("work.after_claim")) {
        abandon(run);
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
        return fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        db_send_text(run->db, claim_settings, NULL, &run->err) < 0 ||
        claim_send(run->db, run->args, provider, after, limit, &run->err) < 0 ||
        send_handler_settings(run) < 0 || db_sync(run->db, &run->err) < 0)
        return fail(run, true);
    if (expect(run, NULL) < 0 || expect(run, NULL) < 0 || expect(run, &rows) < 0 ||
        expect(run, NULL) < 0 || expect(run, NULL) < 0) {
        db_result_free(rows);
        return fail(run, false);
    }
    claim_read(&run->claim, rows);
    return finish_claim(run);
}

/* The second transaction of an event that runs alone. */
static int take_alone(struct run *run)
{
    struct db_result *rows = NULL;

    if (db_pipeline_begin(run->db, &run->err) < 0)
        return fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        claim_alone_take(run->db, run->args, &run->claim.events[0], &run->err) < 0 ||
        send_handler_settings(run) < 0 || db_sync(run->db, &run->err) < 0)
        return fail(run, true);
    if (expect(run, NULL) < 0 || expect(run, &rows) < 0 || expect(run, NULL) < 0 ||
        expect(run, NULL) < 0) {
        db_result_free(rows);
        return fail(run, false);
    }
    if (db_rows(rows) == 0)
        run->claim.count = 0;
    db_result_free(rows);
    return finish_claim(run);
}

int run_claim_alone(struct run *run, bool *dead)
{
    const struct provider_config *config = run->provider->config;
    int64_t backoff = backoff_delay_ms(&config->backoff, 1, random_bits());
    /* Time for its second transaction to begin, before another worker thinks that we died. */
    int64_t due_again = backoff > ALONE_AGAIN_MS ? backoff : ALONE_AGAIN_MS;

    *dead = false;
    run->next_run_at = INT64_MAX;
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (claim_alone(run->db, run->args, config->name, config->attempts, due_again, run->worker,
                    &run->claim, dead, &run->err) < 0) {
        note_failure(run);
        return -1;
    }
    if (run->claim.count == 0 || *dead)
        return 0;
    return take_alone(run);
}

/* ---- handlers ---- */

/* Constraints that are deferred are checked here, so that the event that breaks one is the one that
 * fails. The inner savepoint puts their mode back to what it was, for the next event; the check is
 * made once more at the commit. */
static const char *const check_constraints[] = {"SAVEPOINT c", "SET CONSTRAINTS ALL IMMEDIATE",
                                                "ROLLBACK TO SAVEPOINT c"};

static int send_texts(struct run *run, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (db_send_text(run->db, texts[i], NULL, &run->err) < 0)
            return -1;
    return (int)count;
}

/* Returns how many statements, or -1. */
static int send_event(struct run *run, const struct claimed *event)
{
    const struct plan_route *route = plan_find(run->provider, event->event_type);
    int sum = 0, n;

    if (route->count == 1 && route->actions[0].kind == &handler_ignore)
        return 0;
    if (db_send_text(run->db, "SAVEPOINT e", NULL, &run->err) < 0)
        return -1;
    for (size_t i = 0; i < route->count; i++) {
        const struct action *action = &route->actions[i];

        n = action->kind->send(run->db, run->args, action, event, &run->err);
        if (n < 0)
            return -1;
        sum += n;
    }
    if (run->deferrable) {
        n = send_texts(run, check_constraints, ARRAY_LEN(check_constraints));
        if (n < 0)
            return -1;
        sum += n;
    }
    return db_send_text(run->db, "RELEASE SAVEPOINT e", NULL, &run->err) < 0 ? -1 : sum + 2;
}

/* ---- the end of the transaction ---- */

struct ending {
    bool settles_done, settles_failed;
};

static int send_ending(struct run *run, struct ending *ending)
{
    const struct claim *claim = &run->claim;
    struct str provider = run->provider->config->name;
    int done, failed;

    if (db_send_text(run->db, settle_settings, NULL, &run->err) < 0)
        return -1;
    done = settle_send_done(run->db, run->args, provider, claim->events, run->verdicts,
                            claim->count, &run->err);
    failed = settle_send_failed(run->db, run->args, provider, run->worker, claim->events,
                                run->verdicts, claim->count, &run->err);
    if (done < 0 || failed < 0)
        return -1;
    *ending = (struct ending){done > 0, failed > 0};
    if (fault("work.before_commit"))
        return err_set(&run->err, ERR_AGAIN, "fault work.before_commit");
    return db_send_text(run->db, "COMMIT", NULL, &run->err);
}

static int receive_ending(struct run *run, struct ending ending)
{
    struct db_result *rows = NULL;

    if (expect(run, NULL) < 0 || (ending.settles_done && expect(run, NULL) < 0) ||
        (ending.settles_failed && expect(run, &rows) < 0))
        return fail(run, false);
    if (rows)
        run->next_run_at = settle_next_run_at(rows);
    db_result_free(rows);
    return expect(run, NULL) < 0 ? fail(run, false) : 0; /* COMMIT */
}

/* ---- sections ---- */

enum section { SECTION_FAILED = -1, SECTION_RAN, SECTION_STOPPED, SECTION_COMMITTED };

static const char *const undo_event[] = {"ROLLBACK TO SAVEPOINT e", "RELEASE SAVEPOINT e"};

static int send_section(struct run *run, size_t count, bool last, struct ending *ending)
{
    if (run->savepoint_failed && send_texts(run, undo_event, ARRAY_LEN(undo_event)) < 0)
        return -1;
    for (size_t i = run->next; i < run->next + count; i++) {
        run->statements[i] = send_event(run, &run->claim.events[i]);
        if (run->statements[i] < 0)
            return -1;
    }
    if (last && send_ending(run, ending) < 0)
        return -1;
    return db_sync(run->db, &run->err);
}

/* The event that was read last failed. */
static enum section event_failed(struct run *run, size_t i)
{
    struct failure failure = failure_of(run);
    struct verdict *verdict = &run->verdicts[i];

    if (verdict_is_server(&failure) || atomic_load(run->interrupted))
        return fail(run, false);
    run->savepoint_failed = true;
    run->next = i;
    if (failure.fault == DB_FAULT_STALE_PLAN && run->redone != i + 1) {
        run->redone = i + 1;
    } else {
        verdict_of_failure(run->provider->config, &run->claim.events[i], &failure, random_bits(),
                           verdict);
        run->conflicts += verdict->what == OUTCOME_AGAIN;
        run->next = i + 1;
    }
    drain(run);
    return db_connected(run->db) ? SECTION_STOPPED : (enum section)fail(run, true);
}

static enum section receive_events(struct run *run, size_t count)
{
    for (size_t i = run->next, end = run->next + count; i < end; i++) {
        for (int n = 0; n < run->statements[i]; n++) {
            switch (db_receive(run->db, NULL, &run->err)) {
            case DB_ROWS:
                break;
            case DB_FAILED:
                return event_failed(run, i);
            case DB_SKIPPED:
            case DB_SYNCED:
            case DB_GONE:
                return fail(run, false);
            }
        }
    }
    run->next += count;
    return SECTION_RAN;
}

static enum section run_section(struct run *run, size_t count, bool last)
{
    struct ending ending = {false, false};
    enum section section;

    run->section_us = clock_mono_us();
    run->section_size = count;
    if (send_section(run, count, last, &ending) < 0)
        return fail(run, true);
    if (run->savepoint_failed && (expect(run, NULL) < 0 || expect(run, NULL) < 0))
        return fail(run, false);
    run->savepoint_failed = false;
    section = receive_events(run, count);
    if (section != SECTION_RAN)
        return section;
    if (last && receive_ending(run, ending) < 0)
        return SECTION_FAILED;
    if (expect(run, NULL) < 0)
        return fail(run, true);
    return last ? SECTION_COMMITTED : SECTION_RAN;
}

/* When events fail slowly, those that have not begun are not kept waiting in this transaction. */
static void put_rest_back(struct run *run)
{
    if (clock_mono_us() - run->started_us < run->patience_ms * 1000)
        return;
    for (; run->next < run->claim.count; run->next++)
        verdict_untouched(&run->verdicts[run->next]);
}

enum run_end run_finish(struct run *run)
{
    size_t size = run->claim.count;
    struct err ignored;

    db_set_timeout(run->db, timeout_ms(run) + SERVER_GRACE_MS);
    run->started_us = clock_mono_us();
    for (;;) {
        size_t left = run->claim.count - run->next;
        size_t count = size < left ? size : left;

        switch (run_section(run, count, count == left)) {
        case SECTION_FAILED:
            return run_failed(run);
        case SECTION_RAN:
            size *= 2;
            break;
        case SECTION_STOPPED:
            size = 1;
            put_rest_back(run);
            break;
        case SECTION_COMMITTED:
            (void)fault("work.after_commit");
            if (db_pipeline_end(run->db, &ignored) < 0)
                db_disconnect(run->db);
            return RUN_COMMITTED;
        }
    }
}

/* What the event runs into is written down, provided that it is still there and nobody else's. */
int run_blame(struct run *run)
{
    struct str provider = run->provider->config->name;
    struct db_result *rows = NULL;
    struct claimed event = run->claim.events[0];

    if (take_alone(run) < 0)
        return -1;
    if (run->claim.count == 0)
        return 0;
    verdict_release(&run->verdicts[0]);
    run->verdicts[0] = run->blame;
    run->blame = (struct verdict){0};
    if (settle_send_failed(run->db, run->args, provider, run->worker, &event, run->verdicts, 1,
                           &run->err) < 0 ||
        db_send_text(run->db, "COMMIT", NULL, &run->err) < 0 || db_sync(run->db, &run->err) < 0)
        return fail(run, true);
    if (expect(run, &rows) < 0 || expect(run, NULL) < 0 || expect(run, NULL) < 0) {
        db_result_free(rows);
        return fail(run, false);
    }
    run->next_run_at = settle_next_run_at(rows);
    db_result_free(rows);
    abandon(run);
    return 0;
}

void run_release(struct run *run)
{
    for (size_t i = 0; run->verdicts && i < run->claim.count; i++)
        verdict_release(&run->verdicts[i]);
    free(run->verdicts);
    verdict_release(&run->blame);
    claim_release(&run->claim);
    run->verdicts = NULL;
}
