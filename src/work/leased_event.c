/* One event's actions in their order, and the transaction that one of them may ask for. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "work/leased_parts.h"

#define IDLE_GRACE_MS 10000

/* A run of an event's actions. */
struct event_run {
    struct handler_run run; /* first: what handlers get */
    struct leased *leased;
    size_t i;
    bool lost; /* the lease is */
};

static int left_ms(const struct handler_run *run)
{
    int64_t left = (run->deadline_us - clock_mono_us()) / 1000;

    if (left < 1)
        return 1;
    return left < INT_MAX - IDLE_GRACE_MS ? (int)left : INT_MAX - IDLE_GRACE_MS;
}

static int send_settings(struct run *run, int timeout_ms)
{
    char timeout[24], idle[24];

    snprintf(timeout, sizeof(timeout), "%d", timeout_ms);
    snprintf(idle, sizeof(idle), "%d", timeout_ms + IDLE_GRACE_MS);
    db_args_clear(run->args);
    db_args_text(run->args, str_from(timeout));
    db_args_text(run->args, str_from(idle));
    return db_send_text(run->db,
                        "select set_config('statement_timeout', $1, true),"
                        " set_config('idle_in_transaction_session_timeout', $2, true)",
                        run->args, &run->err);
}

/* BEGIN, the event's row locked, a savepoint. *held: the lease is still ours. `event` NULL: it has
 * a lane, whose lease is checked at the end. */
static int open_transaction(struct run *run, const struct claimed *event, int timeout_ms,
                            bool *held)
{
    struct db_result *rows = NULL;

    db_set_timeout(run->db, timeout_ms + SERVER_GRACE_MS);
    if (db_connect(run->db, &run->err) < 0) {
        run_note_failure(run);
        return -1;
    }
    if (db_pipeline_begin(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        (event && lease_send_hold(run->db, run->args, event, &run->err) < 0) ||
        send_settings(run, timeout_ms) < 0 ||
        db_send_text(run->db, "SAVEPOINT e", NULL, &run->err) < 0 ||
        db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (run_expect(run, NULL) < 0 || (event && run_expect(run, &rows) < 0) ||
        run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    *held = !event || db_rows(rows) == 1;
    db_result_free(rows);
    if (!*held || db_pipeline_end(run->db, &run->err) < 0) {
        run_abandon(run);
        return *held ? -1 : 0;
    }
    return 0;
}

static int begin(struct handler_run *handler, struct err *err)
{
    struct event_run *event_run = (struct event_run *)handler;
    struct run *run = event_run->leased->run;
    const struct claimed *event =
        event_run->leased->leases ? &run->claim.events[event_run->i] : NULL;
    bool held = false;

    if (handler->db)
        return 0;
    if (!handler->failed && open_transaction(run, event, left_ms(handler), &held) == 0 && held) {
        handler->db = run->db;
        handler->args = run->args;
        return 0;
    }
    event_run->lost = !handler->failed && !held && db_connected(run->db);
    handler->failed = true;
    if (event_run->lost)
        return err_set(err, ERR_NEVER, "the lease of the event is lost");
    return err_set(err, ERR_AGAIN, "%s", run->err.text);
}

/* False: the result says how the event ends, or the database is away. */
static bool may_run(struct event_run *event_run, const struct action *action,
                    struct handler_result *result)
{
    struct handler_run *handler = &event_run->run;
    struct run *run = event_run->leased->run;

    if (!action->kind->judge || handler->db)
        return true;
    db_set_timeout(run->db, left_ms(handler));
    if (db_connect(run->db, &run->err) == 0 &&
        action->kind->judge(run->db, run->args, action, handler->event, result, &run->err) == 0)
        return result->end == HANDLER_DONE;
    if (db_connected(run->db)) {
        *result =
            (struct handler_result){.end = HANDLER_RETRY, .error = mem_printf("%s", run->err.text)};
    } else {
        run_note_failure(run);
        handler->failed = true;
    }
    return false;
}

/* Runs leased actions until one of them is not done. */
static void run_actions(struct event_run *event_run, const struct plan_route *route,
                        struct handler_result *result)
{
    for (size_t a = 0; a < route->count; a++) {
        const struct action *action = &route->actions[a];

        if (!may_run(event_run, action, result))
            return;
        if (!action->kind->run)
            continue;
        event_run->run.action = action;
        action->kind->run(&event_run->run, result);
        if (event_run->run.failed || result->end != HANDLER_DONE)
            return;
        free(result->error);
        free(result->more);
        *result = (struct handler_result){0};
    }
}

static void spoil(struct handler_result *result, const char *error)
{
    free(result->error);
    *result = (struct handler_result){
        .end = HANDLER_RETRY, .error = mem_printf("%s", error), .more = result->more};
}

/* What the handler did on the connection stays where it is done, under the savepoint, until the
 * event's SQL actions have run. True: the transaction is still open. */
static bool close_savepoint(struct run *run, struct handler_result *result)
{
    static const char undo[] = "ROLLBACK TO SAVEPOINT e; RELEASE SAVEPOINT e";
    struct err err;

    if (!db_in_transaction(run->db)) {
        if (db_connected(run->db) && result->end == HANDLER_DONE)
            spoil(result, "the handler ended the transaction that it was given");
        return false;
    }
    /* A savepoint of that name is there only if nobody has ended the transaction and begun another;
     * in one that an error has aborted, this fails too. */
    if (result->end == HANDLER_DONE) {
        if (db_exec(run->db, "SAVEPOINT f; RELEASE SAVEPOINT f", &err) == 0)
            return true;
        spoil(result, "a statement failed in the handler's transaction, and the handler went on");
    }
    if (db_exec(run->db, undo, &err) == 0)
        return true;
    run_abandon(run);
    return false;
}

/* The event's own transaction ends with its outcome. */
static void finish_transaction(struct event_run *event_run, struct handler_result *result,
                               double took_s)
{
    struct leased *leased = event_run->leased;
    struct run *run = leased->run;
    struct verdict *verdict = &run->verdicts[event_run->i];
    const struct claimed *event = &run->claim.events[event_run->i];
    bool open = close_savepoint(run, result), wrote = result->end == HANDLER_DONE;
    enum run_end end;

    verdict_release(verdict);
    verdict_of_result(run->provider->config, event, result, took_s, run_random(), verdict);
    if (!open && wrote) { /* the session is gone, and with it what the handler did */
        verdict_release(verdict);
        verdict_untouched(verdict);
        verdict->suspect = true;
    }
    if (!open)
        return;
    if (!leased->leases) { /* goes on in this transaction */
        run->entered = wrote;
        run->opens = false;
        return;
    }
    end = leased_settle(leased, event_run->i, 1, wrote);
    leased->unsure = leased->unsure || end == RUN_LOST;
    if (end == RUN_COMMITTED || !wrote)
        return;
    /* What the handler did is undone: so is the event. */
    verdict_release(verdict);
    if (end == RUN_ROLLED_BACK) {
        *verdict = run->blame;
        run->blame = (struct verdict){0};
    } else {
        verdict_untouched(verdict);
        verdict->suspect = event->counted || end == RUN_LOST;
    }
}

void leased_run_event(struct leased *leased, size_t i, const struct handler_event *event)
{
    struct run *run = leased->run;
    const struct provider_config *config = run->provider->config;
    int64_t began = clock_mono_us();
    struct event_run event_run = {.run = {.provider = config,
                                          .event = event,
                                          .deadline_us = began + config->timeout_ms * 1000,
                                          .interrupted = run->interrupted,
                                          .worker = run->worker.ptr,
                                          .begin = begin},
                                  .leased = leased,
                                  .i = i};
    struct handler_result result = {0};
    struct verdict *verdict = &run->verdicts[i];
    double took_s;

    run_actions(&event_run, plan_find(run->provider, run->claim.events[i].event_type), &result);
    took_s = (double)(clock_mono_us() - began) / 1e6;
    if (event_run.lost) {
        leased_lose(leased, i);
    } else if (event_run.run.failed) {
        verdict_release(verdict);
        verdict_untouched(verdict);
        verdict->suspect = run->claim.events[i].counted;
    } else if (event_run.run.db) {
        finish_transaction(&event_run, &result, took_s);
    } else {
        verdict_release(verdict);
        verdict_of_result(config, &run->claim.events[i], &result, took_s, run_random(), verdict);
    }
    free(result.error);
    free(result.more);
}
