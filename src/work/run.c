/* The transaction of a batch. The first round trip claims. The second sends everything at once, as
 * if nothing could fail: for each event a savepoint and its handler, then the outcomes and COMMIT.
 * When an event fails, the server skips what was sent behind it; then its savepoint is rolled back
 * to, and the rest is sent again in sections that begin with one event and double.
 *
 * Whatever goes wrong with the transaction itself ends in a rollback that costs nothing: the claim
 * was a DELETE of it. With lanes the claim was a lease, and the DELETE comes with the outcomes
 * (work/lane_run.h). */
#include "work/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "work/lane_run.h"
#include "work/run_parts.h"

static const char settle_settings[] = "select set_config('statement_timeout', '0', true)";

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

/* Whether anything of the event happens in the transaction. */
static bool has_statements(const struct run *run, const struct plan_route *route)
{
    for (size_t i = 0; i < route->count; i++)
        if (route->actions[i].kind->send && route->actions[i].kind != &handler_ignore)
            return true;
    return run->entered;
}

/* Returns how many statements, or -1. */
static int send_event(struct run *run, size_t n_event)
{
    const struct claimed *event = &run->claim.events[n_event];
    const struct plan_route *route = plan_find(run->provider, event->event_type);
    int sum = 0, n;

    if (run->verdicts[n_event].what != OUTCOME_DONE || !has_statements(run, route))
        return 0;
    if (!run->entered) {
        if (db_send_text(run->db, "SAVEPOINT e", NULL, &run->err) < 0)
            return -1;
        sum++;
    }
    for (size_t i = 0; i < route->count; i++) {
        const struct action *action = &route->actions[i];

        if (!action->kind->send)
            continue;
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
    return db_send_text(run->db, "RELEASE SAVEPOINT e", NULL, &run->err) < 0 ? -1 : sum + 1;
}

/* ---- the end of the transaction ---- */

struct ending {
    bool settles_done, settles_failed, releases;
};

static int send_ending(struct run *run, struct ending *ending)
{
    const struct claim *claim = &run->claim;
    struct str provider = run->provider->config->name;
    int done, failed, releases = 0;

    if (db_send_text(run->db, settle_settings, NULL, &run->err) < 0 ||
        (run->lanes && lane_run_send_settle(run) < 0))
        return -1;
    done = settle_send_done(run->db, run->args, provider, claim->events, run->verdicts,
                            claim->count, &run->err);
    failed = settle_send_failed(run->db, run->args, provider, run->worker, claim->events,
                                run->verdicts, claim->count, &run->err);
    if (run->lanes)
        releases = lane_run_send_next(run);
    if (done < 0 || failed < 0 || releases < 0)
        return -1;
    *ending = (struct ending){done > 0, failed > 0, releases > 0};
    if (fault("work.before_commit"))
        return err_set(&run->err, ERR_AGAIN, "fault work.before_commit");
    return db_send_text(run->db, "COMMIT", NULL, &run->err);
}

static int receive_ending(struct run *run, struct ending ending)
{
    struct db_result *rows = NULL;

    if (run_expect(run, NULL) < 0 || (run->lanes && run_expect(run, NULL) < 0) ||
        (ending.settles_done && run_expect(run, NULL) < 0) ||
        (ending.settles_failed && run_expect(run, &rows) < 0))
        return run_fail(run, false);
    if (rows)
        run->next_run_at = settle_next_run_at(rows);
    db_result_free(rows);
    rows = NULL;
    if (ending.releases && run_expect(run, &rows) < 0)
        return run_fail(run, false);
    if (rows)
        lane_run_read_next(run, rows);
    db_result_free(rows);
    return run_expect(run, NULL) < 0 ? run_fail(run, false) : 0; /* COMMIT */
}

/* ---- sections ---- */

enum section { SECTION_FAILED = -1, SECTION_RAN, SECTION_STOPPED, SECTION_COMMITTED };

static const char *const undo_event[] = {"ROLLBACK TO SAVEPOINT e", "RELEASE SAVEPOINT e"};

static int send_section(struct run *run, size_t count, bool last, struct ending *ending)
{
    if (run->opens &&
        (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 || run_send_handler_settings(run) < 0))
        return -1;
    if (run->savepoint_failed && send_texts(run, undo_event, ARRAY_LEN(undo_event)) < 0)
        return -1;
    for (size_t i = run->next; i < run->next + count; i++) {
        run->statements[i] = send_event(run, i);
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
    struct failure failure = run_failure(run);
    struct verdict *verdict = &run->verdicts[i];

    if (verdict_is_server(&failure) || atomic_load(run->interrupted))
        return run_fail(run, false);
    run->savepoint_failed = true;
    run->next = i;
    if (failure.fault == DB_FAULT_STALE_PLAN && run->entered) {
        verdict_untouched(verdict); /* what was done before these statements cannot be redone */
        run->next = i + 1;
    } else if (failure.fault == DB_FAULT_STALE_PLAN && run->redone != i + 1) {
        run->redone = i + 1;
    } else {
        verdict_of_failure(run->provider->config, &run->claim.events[i], &failure, run_random(),
                           verdict);
        run->conflicts += verdict->what == OUTCOME_AGAIN;
        if (run->lanes)
            lane_run_failed(run, i);
        run->next = i + 1;
    }
    run_drain(run);
    return db_connected(run->db) ? SECTION_STOPPED : (enum section)run_fail(run, true);
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
                return run_fail(run, false);
            }
        }
    }
    run->next += count;
    return SECTION_RAN;
}

static enum section run_section(struct run *run, size_t count, bool last)
{
    struct ending ending = {0};
    enum section section;

    run->section_us = clock_mono_us();
    run->section_size = count;
    if (send_section(run, count, last, &ending) < 0)
        return run_fail(run, true);
    if (run->opens && (run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0))
        return run_fail(run, false);
    run->opens = false;
    if (run->savepoint_failed && (run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0))
        return run_fail(run, false);
    run->savepoint_failed = false;
    section = receive_events(run, count);
    if (section != SECTION_RAN)
        return section;
    if (last && receive_ending(run, ending) < 0)
        return SECTION_FAILED;
    if (run_expect(run, NULL) < 0)
        return run_fail(run, true);
    return last ? SECTION_COMMITTED : SECTION_RAN;
}

/* When events fail slowly, those that have not begun are not kept waiting in this transaction. */
static void put_rest_back(struct run *run)
{
    if (clock_mono_us() - run->started_us < run->patience_ms * 1000)
        return;
    for (; run->next < run->claim.count; run->next++)
        run_leave(run, run->next);
}

enum run_end run_finish(struct run *run)
{
    size_t size = run->claim.count;
    struct err ignored;

    db_set_timeout(run->db, run_timeout_ms(run) + SERVER_GRACE_MS);
    run->started_us = clock_mono_us();
    if (run->opens && db_pipeline_begin(run->db, &run->err) < 0) {
        (void)run_fail(run, true);
        return run_failed(run);
    }
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

    if (run->lanes) {
        lane_run_take_blame(run);
        return run_finish(run) == RUN_COMMITTED ? 0 : -1;
    }
    if (run_take_alone(run) < 0)
        return -1;
    if (run->claim.count == 0)
        return 0;
    verdict_release(&run->verdicts[0]);
    run->verdicts[0] = run->blame;
    run->blame = (struct verdict){0};
    if (settle_send_failed(run->db, run->args, provider, run->worker, &event, run->verdicts, 1,
                           &run->err) < 0 ||
        db_send_text(run->db, "COMMIT", NULL, &run->err) < 0 || db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (run_expect(run, &rows) < 0 || run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    run->next_run_at = settle_next_run_at(rows);
    db_result_free(rows);
    run_abandon(run);
    return 0;
}

void run_release(struct run *run)
{
    for (size_t i = 0; run->verdicts && i < run->claim.count; i++)
        verdict_release(&run->verdicts[i]);
    free(run->verdicts);
    verdict_release(&run->blame);
    if (run->lanes)
        run->claim = (struct claim){0}; /* a part of theirs */
    else
        claim_release(&run->claim);
    run->verdicts = NULL;
}
