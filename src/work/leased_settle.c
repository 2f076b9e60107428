/* Phase B. The first round trip takes the rows by their tokens, so that only what is still ours
 * goes on; the rest is run.c's: SQL actions under savepoints, outcomes, COMMIT. */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "work/leased_parts.h"

#define NAP_MS 200
#define INTERRUPTED_TRIES 3
#define PATIENCE_MS (1000LL * 1000 * 1000)

static const char take_settings[] = "select set_config('enable_seqscan', 'off', true),"
                                    " set_config('plan_cache_mode', 'force_generic_plan', true)";

void leased_lose(struct leased *leased, size_t i)
{
    struct run *run = leased->run;

    leased->state[i] = LEASED_LOST;
    if (!leased->unsure)
        log_event(LOG_WARN, "lost the lease of an event, its result does not count",
                  F_STR("provider", run->provider->config->name),
                  F_NUM("id", run->claim.events[i].id),
                  F_NUM("attempt", run->claim.events[i].attempt));
}

/* A run of some of the events, with their verdicts. */
struct part {
    struct run run;
    size_t places[CLAIM_MAX]; /* in the whole run */
};

static void part_begin(struct part *part, struct leased *leased, size_t first, size_t count)
{
    struct run *whole = leased->run;
    struct run *run = &part->run;

    *run = (struct run){.db = whole->db,
                        .args = whole->args,
                        .provider = whole->provider,
                        .worker = whole->worker,
                        .interrupted = whole->interrupted,
                        .deferrable = whole->deferrable,
                        .patience_ms = PATIENCE_MS,
                        .next_run_at = INT64_MAX,
                        .claim = {.events = mem_alloc((count + 1) * sizeof(struct claimed))},
                        .verdicts = mem_alloc((count + 1) * sizeof(struct verdict))};
    for (size_t i = first; i < first + count; i++) {
        if (leased->state[i] != LEASED_WAITS)
            continue;
        part->places[run->claim.count] = i;
        run->claim.events[run->claim.count] = whole->claim.events[i];
        run->verdicts[run->claim.count++] = whole->verdicts[i];
        whole->verdicts[i] = (struct verdict){0};
    }
}

/* Results go back to the whole run. */
static void part_end(struct part *part, struct leased *leased)
{
    struct run *run = &part->run, *whole = leased->run;

    for (size_t i = 0; i < run->claim.count; i++)
        whole->verdicts[part->places[i]] = run->verdicts[i];
    whole->conflicts += run->conflicts;
    if (run->next_run_at < whole->next_run_at)
        whole->next_run_at = run->next_run_at;
    whole->fault = run->fault;
    memcpy(whole->sqlstate, run->sqlstate, sizeof(whole->sqlstate));
    whole->err = run->err;
    verdict_release(&whole->blame);
    whole->blame = run->blame;
    free(run->verdicts);
    free(run->claim.events);
}

/* Keeps those whose rows came back. */
static void keep_taken(struct part *part, struct leased *leased, const struct db_result *rows)
{
    struct run *run = &part->run;
    size_t kept = 0;

    for (size_t i = 0; i < run->claim.count; i++) {
        bool ours = false;

        for (int row = 0; row < db_rows(rows) && !ours; row++)
            ours = db_int(rows, row, 0) == run->claim.events[i].id;
        if (!ours) {
            verdict_release(&run->verdicts[i]);
            leased_lose(leased, part->places[i]);
            continue;
        }
        part->places[kept] = part->places[i];
        run->claim.events[kept] = run->claim.events[i];
        run->verdicts[kept++] = run->verdicts[i];
    }
    run->claim.count = kept;
}

/* -1: run_failed(). */
static int take(struct part *part, struct leased *leased, bool entered)
{
    struct run *run = &part->run;
    struct db_result *rows = NULL;
    int before = entered ? 0 : 2;

    db_set_timeout(run->db, run_timeout_ms(run) + SERVER_GRACE_MS);
    if (db_pipeline_begin(run->db, &run->err) < 0)
        return run_fail(run, true);
    if ((!entered && (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
                      db_send_text(run->db, take_settings, NULL, &run->err) < 0)) ||
        lease_send_take(run->db, run->args, run->claim.events, run->claim.count, &run->err) < 0 ||
        run_send_handler_settings(run) < 0 || db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    for (int i = 0; i < before; i++)
        if (run_expect(run, NULL) < 0)
            return run_fail(run, false);
    if (run_expect(run, &rows) < 0 || run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    keep_taken(part, leased, rows);
    db_result_free(rows);
    return 0;
}

enum run_end leased_settle(struct leased *leased, size_t first, size_t count, bool entered)
{
    struct part part;
    enum run_end end = RUN_COMMITTED;

    part_begin(&part, leased, first, count);
    part.run.entered = entered;
    if (part.run.claim.count > 0) {
        if (take(&part, leased, db_in_transaction(part.run.db)) < 0)
            end = run_failed(&part.run);
        else if (part.run.claim.count == 0)
            run_abandon(&part.run);
        else
            end = run_finish(&part.run);
    }
    if (end == RUN_COMMITTED)
        for (size_t i = 0; i < part.run.claim.count; i++)
            leased->state[part.places[i]] = LEASED_SETTLED;
    part_end(&part, leased);
    return end;
}

/* ---- all of them ---- */

static bool has_statements(const struct leased *leased, size_t first, size_t count)
{
    const struct run *run = leased->run;

    for (size_t i = first; i < first + count; i++) {
        const struct plan_route *route = plan_find(run->provider, run->claim.events[i].event_type);

        if (leased->state[i] != LEASED_WAITS || run->verdicts[i].what != OUTCOME_DONE)
            continue;
        for (size_t a = 0; a < route->count; a++)
            if (!route->actions[a].kind->run)
                return true;
    }
    return false;
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_MS * 1000000L}, NULL);
}

/* What is written down is known, so a connection that is lost is no reason to run anything again:
 * the fence makes it safe to write it once more. Not where a statement of the events may be what
 * ends the session. */
static enum run_end settle_stubbornly(struct leased *leased, size_t first, size_t count)
{
    struct run *run = leased->run;
    int64_t deadline = clock_mono_us() + run->provider->config->lease_ms * 1000;

    for (int tries = 1;; tries++) {
        bool statements = has_statements(leased, first, count);
        enum run_end end = leased_settle(leased, first, count, false);
        struct err ignored;

        if (end == RUN_COMMITTED || end == RUN_ROLLED_BACK)
            return end;
        if (end == RUN_LOST && statements) {
            leased->suspect = true;
            return end;
        }
        if (end == RUN_INTERRUPTED ? tries >= INTERRUPTED_TRIES : clock_mono_us() > deadline)
            return end;
        leased->unsure = leased->unsure || end == RUN_LOST;
        if (end != RUN_INTERRUPTED)
            nap();
        db_set_timeout(run->db, run_timeout_ms(run) + SERVER_GRACE_MS);
        (void)(db_connect(run->db, &ignored) == 0);
    }
}

/* It is to blame for what does not commit; that can be written. */
static enum run_end settle_single(struct leased *leased, size_t i)
{
    struct run *run = leased->run;
    enum run_end end = settle_stubbornly(leased, i, 1);

    if (end != RUN_ROLLED_BACK || run->verdicts[i].what != OUTCOME_DONE)
        return end;
    verdict_release(&run->verdicts[i]);
    run->verdicts[i] = run->blame;
    run->blame = (struct verdict){0};
    return settle_stubbornly(leased, i, 1);
}

void leased_settle_all(struct leased *leased)
{
    struct run *run = leased->run;
    enum run_end end = run->claim.count > 1 ? settle_stubbornly(leased, 0, run->claim.count)
                                            : settle_single(leased, 0);

    if (run->claim.count > 1 && (end == RUN_ROLLED_BACK || leased->suspect)) {
        struct err ignored;

        leased->suspect = false;
        end = RUN_COMMITTED;
        for (size_t i = 0; i < run->claim.count; i++) {
            enum run_end single;

            if (leased->state[i] != LEASED_WAITS)
                continue;
            (void)(db_connect(run->db, &ignored) == 0);
            single = settle_single(leased, i);
            if (single != RUN_COMMITTED)
                end = single;
        }
    }
    leased->end = end;
}
