/* The claim, and phase A: event by event. */
#include "work/leased.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "work/leased_parts.h"

#define CLAIM_TIMEOUT_MS 60000
#define GRACE_US (10LL * 1000 * 1000) /* beyond `timeout`, for settling */

static const char claim_settings[] = "select set_config('enable_seqscan', 'off', true),"
                                     " set_config('plan_cache_mode', 'force_generic_plan', true)";

/* ---- claiming ---- */

int leased_claim_batch(struct run *run, struct position after, int limit,
                       struct lease_claim *result)
{
    const struct provider_config *config = run->provider->config;
    struct db_result *rows = NULL;
    struct err ignored;

    *result = (struct lease_claim){0};
    run->next_run_at = INT64_MAX;
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (db_pipeline_begin(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (db_send_text(run->db, "BEGIN", NULL, &run->err) < 0 ||
        db_send_text(run->db, claim_settings, NULL, &run->err) < 0 ||
        lease_send_claim(run->db, run->args, config->name, after, limit, config->lease_ms,
                         &run->err) < 0 ||
        db_send_text(run->db, "COMMIT", NULL, &run->err) < 0 || db_sync(run->db, &run->err) < 0)
        return run_fail(run, true);
    if (run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0 || run_expect(run, &rows) < 0 ||
        run_expect(run, NULL) < 0 || run_expect(run, NULL) < 0) {
        db_result_free(rows);
        return run_fail(run, false);
    }
    lease_read(&run->claim, rows, result);
    if (db_pipeline_end(run->db, &ignored) < 0)
        db_disconnect(run->db);
    return run_claimed(run);
}

int leased_claim_alone(struct run *run, bool *dead)
{
    const struct provider_config *config = run->provider->config;

    *dead = false;
    run->next_run_at = INT64_MAX;
    db_set_timeout(run->db, CLAIM_TIMEOUT_MS);
    if (claim_alone(run->db, run->args, config->name, WORK_LEASED, config->attempts,
                    config->lease_ms, run->worker, &run->claim, dead, &run->err) < 0) {
        run_note_failure(run);
        return -1;
    }
    if (run->claim.count == 0 || *dead)
        return 0;
    return run_claimed(run);
}

/* ---- phase A ---- */

void leased_keep(struct leased *leased)
{
    int64_t timeout_us = leased->run->provider->config->timeout_ms * 1000;

    leases_keep(leased->leases, &leased->hold, clock_mono_us() + timeout_us + GRACE_US);
}

bool leased_wants_payload(const struct run *run)
{
    for (size_t i = 0; i < run->claim.count; i++) {
        const struct plan_route *route = plan_find(run->provider, run->claim.events[i].event_type);

        for (size_t a = 0; a < route->count; a++)
            if (route->actions[a].kind->wants_payload)
                return true;
    }
    return false;
}

static void gone(struct leased *leased, size_t i)
{
    struct verdict *verdict = &leased->run->verdicts[i];

    *verdict = (struct verdict){.what = OUTCOME_DEAD,
                                .counts = true,
                                .took_s = -1,
                                .error = mem_printf("the content of event %lld is gone",
                                                    (long long)leased->run->claim.events[i].id)};
}

/* Nothing of it counts. An event that runs alone goes on to do so. */
static void untouched(struct leased *leased, size_t i)
{
    struct verdict *verdict = &leased->run->verdicts[i];

    verdict_release(verdict);
    verdict_untouched(verdict);
    verdict->suspect = leased->run->claim.events[i].counted;
}

void leased_run_loaded(struct leased *leased, size_t i, const struct db_result *rows, int row)
{
    struct run *run = leased->run;
    const struct claimed *claimed = &run->claim.events[i];
    struct lease_content content;

    lease_content_read(rows, row, &content);
    if (!content.found) {
        gone(leased, i);
        return;
    }
    if (leased->leases)
        leased_keep(leased);
    leased_run_event(leased, i,
                     &(struct handler_event){.id = claimed->id,
                                             .provider = run->provider->config->name,
                                             .event_id = content.event_id,
                                             .type = content.type,
                                             .key = content.key,
                                             .received_at = content.received_at,
                                             .headers = content.headers,
                                             .body = content.body,
                                             .payload = content.payload,
                                             .attempt = claimed->attempt});
}

/* Whether those that have not begun are better run by somebody else, or never. */
static bool is_enough(const struct leased *leased, int64_t began_us)
{
    const struct run *run = leased->run;

    return atomic_load(run->interrupted) ||
           (leased->ran > 0 && clock_mono_us() - began_us > run->patience_ms * 1000);
}

/* Runs from `first` on what one answer holds. Returns how many, or -1. */
static int run_some(struct leased *leased, size_t first, bool payloads, int64_t began_us)
{
    struct run *run = leased->run;
    struct db_result *rows;
    int n;

    if (lease_load(run->db, run->args, run->claim.events + first, run->claim.count - first,
                   LEASED_LOAD_BYTES, payloads, &rows, &run->err) < 0) {
        run_note_failure(run);
        return -1;
    }
    for (n = 0; n < db_rows(rows) && !is_enough(leased, began_us); n++) {
        size_t i = first + (size_t)n;

        /* What has another class by now does not run here. */
        if (run->verdicts[i].what == OUTCOME_DONE) {
            leased->ran++;
            leased_run_loaded(leased, i, rows, n);
        }
    }
    db_result_free(rows);
    return n;
}

/* Returns how many events the database let us see. */
static void run_all(struct leased *leased)
{
    struct run *run = leased->run;
    bool payloads = leased_wants_payload(run);
    int64_t began_us = clock_mono_us();
    size_t next = 0;

    while (next < run->claim.count && !is_enough(leased, began_us)) {
        int n = run_some(leased, next, payloads, began_us);

        if (n <= 0)
            break;
        next += (size_t)n;
    }
    for (; next < run->claim.count; next++)
        untouched(leased, next);
}

static void take_owed(struct leased *leased, struct leased_end *end)
{
    struct run *run = leased->run;

    end->owed = mem_alloc((run->claim.count + 1) * sizeof(*end->owed));
    for (size_t i = 0; i < run->claim.count; i++)
        if (leased->state[i] == LEASED_WAITS)
            end->owed[end->owed_count++] = run->claim.events[i];
}

void leased_finish(struct run *run, struct leases *leases, struct leased_end *end)
{
    struct leased leased = {.run = run, .leases = leases, .end = RUN_COMMITTED};
    int64_t began = clock_mono_us();

    leases_hold(leases, &leased.hold, run->provider->config->name, run->claim.events,
                run->claim.count, run->provider->config->lease_ms,
                began + run->provider->config->timeout_ms * 1000 + GRACE_US);
    run_all(&leased);
    leased_keep(&leased);
    (void)fault("work.before_settle");
    leased_settle_all(&leased);
    leases_drop(leases, &leased.hold);
    *end = (struct leased_end){.end = leased.end,
                               .ran = leased.ran,
                               .took_us = clock_mono_us() - began,
                               .suspect = leased.suspect};
    take_owed(&leased, end);
}
