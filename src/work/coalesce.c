/* One look a transaction, where any of its events has such a route. What comes later than the look
 * is newer still, and runs after this. */
#include "work/coalesce.h"

#include "work/lane_run.h"

#define LOOK_ROWS 1000 /* of a key, for older ones that nobody has claimed yet */

static bool coalesces(const struct run *run, size_t i)
{
    const struct claimed *event = &run->claim.events[i];

    return run->verdicts[i].what == OUTCOME_DONE && event->lane.ptr &&
           plan_find(run->provider, event->event_type)->route->coalesce;
}

/* Fills the parameters of lane_newest.sql. Returns how many elements. */
static size_t put_events(struct run *run)
{
    size_t count = 0;

    db_args_clear(run->args);
    db_args_text(run->args, run->provider->config->name);
    db_args_array_begin(run->args, DB_TEXT);
    for (size_t i = 0; i < run->claim.count; i++) {
        if (!coalesces(run, i))
            continue;
        db_args_element(run->args, run->claim.events[i].lane);
        count++;
    }
    db_args_array_end(run->args);
    db_args_array_begin(run->args, DB_TEXT);
    for (size_t i = 0; i < run->claim.count; i++)
        if (coalesces(run, i))
            db_args_element(run->args, run->claim.events[i].event_type);
    db_args_array_end(run->args);
    db_args_array_begin(run->args, DB_INT8);
    for (size_t i = 0; i < run->claim.count; i++)
        db_args_element_int8(run->args, run->claim.events[i].id);
    db_args_array_end(run->args);
    db_args_int8(run->args, run->lanes->lanes.token);
    db_args_int4(run->args, LOOK_ROWS);
    return count;
}

static void supersede(struct verdict *verdict, int64_t by)
{
    *verdict = (struct verdict){.what = OUTCOME_SUPERSEDED,
                                .took_s = -1,
                                .error = mem_printf("superseded by %lld", (long long)by)};
}

void coalesce(struct run *run)
{
    struct db_result *rows;
    struct err ignored;
    int row = 0;

    /* Without an answer the database is away, and nothing will commit. */
    if (put_events(run) == 0 ||
        db_run(run->db, db_query("lane_newest"), run->args, &rows, &ignored) < 0)
        return;
    for (size_t i = 0; i < run->claim.count && row < db_rows(rows); i++) {
        int64_t newest;

        if (!coalesces(run, i))
            continue;
        newest = db_is_null(rows, row, 1) ? 0 : db_int(rows, row, 1);
        row++;
        if (newest > run->claim.events[i].id)
            supersede(&run->verdicts[i], newest);
    }
    db_result_free(rows);
}
