/* Answers of the pipeline, its end when something fails, and what does not run then. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "inbox/lane.h"
#include "work/run_parts.h"
#include "work/verdict.h"

uint64_t run_random(void)
{
    uint64_t bits;

    arc4random_buf(&bits, sizeof(bits));
    return bits;
}

int run_expect(struct run *run, struct db_result **result)
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

void run_note_failure(struct run *run)
{
    run->fault = db_fault(run->db);
    snprintf(run->sqlstate, sizeof(run->sqlstate), "%s", db_sqlstate(run->db));
}

struct failure run_failure(const struct run *run)
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

void run_drain(struct run *run)
{
    enum db_answer answer;

    do
        answer = db_receive(run->db, NULL, NULL);
    while (answer != DB_SYNCED && answer != DB_GONE);
}

void run_abandon(struct run *run)
{
    struct err ignored;

    if (!db_connected(run->db))
        return;
    if (db_pipeline_end(run->db, &ignored) < 0 ||
        (db_in_transaction(run->db) && db_exec(run->db, "ROLLBACK", &ignored) < 0))
        db_disconnect(run->db);
}

int run_fail(struct run *run, bool drained)
{
    run_note_failure(run);
    if (run->claim.count == 1) {
        struct failure failure = run_failure(run);

        verdict_release(&run->blame);
        verdict_of_failure(run->provider->config, &run->claim.events[0], &failure, run_random(),
                           &run->blame);
    }
    if (!drained && db_connected(run->db))
        run_drain(run);
    run_abandon(run);
    return -1;
}

enum run_end run_failed(struct run *run)
{
    if (atomic_load(run->interrupted))
        return RUN_INTERRUPTED;
    if (strcmp(run->sqlstate, LANE_LOST) == 0)
        return RUN_TAKEN_OVER;
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

void run_leave(struct run *run, size_t i)
{
    verdict_release(&run->verdicts[i]);
    verdict_untouched(&run->verdicts[i]);
    run->verdicts[i].stays = run->lanes != NULL && !run->claim.events[i].counted;
}
