/* Statements that claim lanes, and their rows. Arrays of keys are in the order of the claim's rows;
 * the statements lock in an order of their own. */
#include "inbox/lane.h"

#include <stdlib.h>

#include "base/mem.h"

int lane_send_claim(struct db *db, struct db_args *args, const struct lane_terms *terms,
                    struct err *err)
{
    db_args_clear(args);
    db_args_text(args, terms->provider);
    db_args_time(args, terms->after.run_at);
    db_args_int8(args, terms->after.id);
    db_args_int4(args, terms->limit);
    db_args_float8(args, terms->lease_s);
    return db_send(db, db_query("lane_claim"), args, err);
}

int lane_send_take(struct db *db, struct db_args *args, const struct lane_terms *terms,
                   struct err *err)
{
    db_args_clear(args);
    db_args_text(args, terms->provider);
    db_args_float8(args, terms->lease_s);
    db_args_int4(args, terms->limit);
    db_args_int4(args, terms->attempts);
    db_args_float8(args, terms->due_again_s);
    db_args_bool(args, terms->serial);
    db_args_text(args, terms->worker);
    db_args_int4(args, terms->suspects);
    db_args_int4(args, terms->events);
    return db_send(db, db_query("lane_take"), args, err);
}

/* Columns of lane_take.sql. */
enum {
    KEY,
    TOKEN,
    ID,
    ATTEMPT,
    ATTEMPT_BASE,
    EVENT_TYPE,
    RUN_AT,
    RECEIVED_AT,
    DEFERRED_SINCE,
    CLASS,
    ASIDE,
    ALONE,
    COUNTED,
    DEAD,
    NOW
};

static void read_event(struct claimed *event, const struct db_result *rows, int row)
{
    *event = (struct claimed)
    {
        .id = db_int(rows, row, ID), .attempt = (int)db_int(rows, row, ATTEMPT) + 1,
        .attempt_base = (int)db_int(rows, row, ATTEMPT_BASE),
        .counted = db_bool(rows, row, COUNTED), .run_at = db_time(rows, row, RUN_AT),
        .received_at = db_time(rows, row, RECEIVED_AT),
        .class = work_class_of(db_text(rows, row, CLASS)),
        .event_type = db_text(rows, row, EVENT_TYPE), .lane = db_text(rows, row, KEY),
        .aside = aside_of(db_text(rows, row, ASIDE)),
    };
    if (event->counted)
        event->token = db_int(rows, row, TOKEN);
    claim_read_deferral(event, rows, row, DEFERRED_SINCE, NOW);
}

static void read_row(struct lanes *lanes, const struct db_result *rows, int row)
{
    struct str key = db_text(rows, row, KEY);
    struct lane *lane;

    lanes->token = db_int(rows, row, TOKEN);
    if (lanes->count == 0 || !str_equal(lanes->list[lanes->count - 1].key, key))
        lanes->list[lanes->count++] =
            (struct lane){.key = key, .begin = lanes->claim.count, .end = lanes->claim.count};
    lane = &lanes->list[lanes->count - 1];
    if (db_is_null(rows, row, ID))
        return;
    if (db_bool(rows, row, DEAD)) {
        lane->dead_id = db_int(rows, row, ID);
        lane->dead_attempt = (int)db_int(rows, row, ATTEMPT);
        return;
    }
    read_event(&lanes->claim.events[lanes->claim.count++], rows, row);
    lane->end = lanes->claim.count;
}

void lanes_read(struct lanes *lanes, const struct db_result *found, struct db_result *taken)
{
    size_t rows = (size_t)db_rows(taken);

    *lanes = (struct lanes){.found = (size_t)db_int(found, 0, 0),
                            .lapsed = (size_t)db_int(found, 0, 1),
                            .now = db_time(found, 0, 4)};
    if (lanes->found > 0)
        lanes->last = (struct position){db_time(found, 0, 2), db_int(found, 0, 3)};
    lanes->claim.rows = taken;
    lanes->claim.events = mem_alloc((rows + 1) * sizeof(*lanes->claim.events));
    lanes->list = mem_alloc((rows + 1) * sizeof(*lanes->list));
    for (size_t row = 0; row < rows; row++)
        read_row(lanes, taken, (int)row);
}

void lanes_release(struct lanes *lanes)
{
    claim_release(&lanes->claim);
    free(lanes->list);
    *lanes = (struct lanes){0};
}

/* ---- the end of a transaction ---- */

static void put_keys(struct db_args *args, const struct lanes *lanes,
                     bool (*wanted)(const struct lane *lane))
{
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < lanes->count; i++)
        if (wanted(&lanes->list[i]))
            db_args_element(args, lanes->list[i].key);
    db_args_array_end(args);
}

static bool is_touched(const struct lane *lane)
{
    return lane->touched;
}

static bool is_done(const struct lane *lane)
{
    return lane->touched && lane->done;
}

static bool is_ending(const struct lane *lane)
{
    return lane->ends;
}

int lane_send_settle(struct db *db, struct db_args *args, struct str provider,
                     const struct lanes *lanes, const struct claimed *events,
                     const struct verdict *verdicts, size_t count, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, provider);
    put_keys(args, lanes, is_touched);
    db_args_int8(args, lanes->token);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        if (!verdicts[i].stays)
            db_args_element_int8(args, events[i].id);
    db_args_array_end(args);
    put_keys(args, lanes, is_done);
    return db_send(db, db_query("lane_settle"), args, err);
}

int lane_send_next(struct db *db, struct db_args *args, struct str provider,
                   const struct lanes *lanes, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, provider);
    put_keys(args, lanes, is_ending);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].ends)
            db_args_element_int8(args, lanes->list[i].reached);
    db_args_array_end(args);
    return db_send(db, db_query("lane_next"), args, err);
}

struct lane_next lane_next_read(const struct db_result *rows)
{
    struct lane_next next = {INT64_MAX, false};

    if (!db_is_null(rows, 0, 0))
        next = (struct lane_next){db_time(rows, 0, 0), db_bool(rows, 0, 1)};
    return next;
}

/* ---- what did not commit ---- */

void lane_return_note(struct lane_return *list, struct str provider, const struct lanes *lanes)
{
    struct lane_return noted = {.keys = mem_alloc((lanes->count + 1) * sizeof(*noted.keys)),
                                .settled = mem_alloc((lanes->count + 1) * sizeof(*noted.settled)),
                                .provider = mem_copy(provider),
                                .token = lanes->token,
                                .now = lanes->now};

    for (size_t i = 0; i < lanes->count; i++) {
        const struct lane *lane = &lanes->list[i];

        if (lane->released)
            continue;
        noted.keys[noted.count] = mem_copy(lane->key);
        noted.settled[noted.count++] = lane->settled;
    }
    lane_return_release(list);
    *list = noted;
}

struct lane_return lane_return_copy(struct str provider, const struct lanes *lanes)
{
    struct lane_return copy = {.keys = mem_alloc((lanes->count + 1) * sizeof(*copy.keys)),
                               .count = lanes->count,
                               .provider = mem_copy(provider),
                               .token = lanes->token,
                               .now = lanes->now};

    for (size_t i = 0; i < lanes->count; i++)
        copy.keys[i] = mem_copy(lanes->list[i].key);
    return copy;
}

static void put_return(struct db_args *args, const struct lane_return *list)
{
    db_args_clear(args);
    db_args_text(args, str_from(list->provider));
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < list->count; i++)
        db_args_element(args, str_from(list->keys[i]));
    db_args_array_end(args);
    db_args_int8(args, list->token);
}

int lane_return_renew(struct db *db, struct db_args *args, const struct lane_return *list,
                      double lease_s, struct err *err)
{
    put_return(args, list);
    db_args_float8(args, lease_s);
    return db_run(db, db_query("lane_renew"), args, NULL, err);
}

void lane_return_release(struct lane_return *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->keys[i]);
    free(list->keys);
    free(list->settled);
    free(list->provider);
    *list = (struct lane_return){0};
}

int lane_return_run(struct db *db, struct db_args *args, const struct lane_return *list,
                    const int64_t *suspects, size_t suspect_count, struct err *err)
{
    put_return(args, list);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < list->count; i++)
        db_args_element_int8(args, list->settled[i]);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < suspect_count; i++)
        db_args_element_int8(args, suspects[i]);
    db_args_array_end(args);
    return db_run(db, db_query("lane_release"), args, NULL, err);
}
