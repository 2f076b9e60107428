/* Statements that claim, and their rows. Queued statements belong to the caller's pipeline; the
 * others are transactions of their own. */
#include "inbox/claim.h"

#include <stdlib.h>

#include "base/mem.h"

#define US 1e6

int claim_send(struct db *db, struct db_args *args, struct str provider, struct position after,
               int limit, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, provider);
    db_args_time(args, after.run_at);
    db_args_int8(args, after.id);
    db_args_int4(args, limit);
    return db_send(db, db_query("claim_sql"), args, err);
}

static const char *const aside_names[] = {
    [ASIDE_NO] = NULL, [ASIDE_RETRY] = "retry", [ASIDE_DEFER] = "defer"};

const char *aside_name(enum aside aside)
{
    return aside_names[aside];
}

enum aside aside_of(struct str name)
{
    for (int aside = ASIDE_RETRY; name.ptr && aside <= ASIDE_DEFER; aside++)
        if (str_equal(name, str_from(aside_names[aside])))
            return (enum aside)aside;
    return ASIDE_NO;
}

void claim_read_deferral(struct claimed *event, const struct db_result *rows, int row,
                         int since_column, int now_column)
{
    int64_t now = db_time(rows, row, now_column);

    event->deferred_since = CLAIM_NEVER;
    event->deferred_for_s = 0;
    if (db_is_null(rows, row, since_column))
        return;
    event->deferred_since = db_time(rows, row, since_column);
    if (now > event->deferred_since)
        event->deferred_for_s = (double)(now - event->deferred_since) / US;
}

void claim_read(struct claim *claim, struct db_result *rows)
{
    claim->rows = rows;
    claim->count = (size_t)db_rows(rows);
    claim->events = mem_alloc((claim->count + 1) * sizeof(*claim->events));
    for (size_t i = 0; i < claim->count; i++) {
        int row = (int)i;

        claim->events[i] = (struct claimed){
            .id = db_int(rows, row, 0),
            .attempt = (int)db_int(rows, row, 1) + 1,
            .attempt_base = (int)db_int(rows, row, 2),
            .class = WORK_SQL,
            .event_type = db_text(rows, row, 3),
            .run_at = db_time(rows, row, 4),
            .received_at = db_time(rows, row, 5),
        };
        claim_read_deferral(&claim->events[i], rows, row, 6, 7);
    }
}

void claim_release(struct claim *claim)
{
    free(claim->events);
    db_result_free(claim->rows);
    *claim = (struct claim){0};
}

int claim_alone(struct db *db, struct db_args *args, struct str provider, enum work_class class,
                int attempts, int64_t backoff_ms, struct str worker, struct claim *claim,
                bool *dead, struct err *err)
{
    struct db_result *rows;

    db_args_clear(args);
    db_args_text(args, provider);
    db_args_int4(args, attempts);
    db_args_float8(args, (double)backoff_ms / 1000);
    db_args_text(args, worker);
    db_args_text(args, str_from(work_class_name(class)));
    if (db_run(db, db_query("suspect_claim"), args, &rows, err) < 0)
        return -1;
    claim->rows = rows;
    claim->count = (size_t)db_rows(rows);
    claim->events = mem_alloc(sizeof(*claim->events));
    if (claim->count == 0)
        return 0;
    claim->events[0] = (struct claimed){
        .id = db_int(rows, 0, 0),
        .token = db_int(rows, 0, 1),
        .attempt = (int)db_int(rows, 0, 2),
        .attempt_base = (int)db_int(rows, 0, 3),
        .counted = true,
        .class = class,
        .event_type = db_text(rows, 0, 4),
        .received_at = db_time(rows, 0, 5),
    };
    claim_read_deferral(&claim->events[0], rows, 0, 6, 8);
    *dead = db_bool(rows, 0, 7);
    return 0;
}

static void put_event(struct db_args *args, const struct claimed *event)
{
    db_args_clear(args);
    db_args_int8(args, event->id);
    db_args_int8(args, event->token);
}

int claim_alone_take(struct db *db, struct db_args *args, const struct claimed *event,
                     struct err *err)
{
    put_event(args, event);
    return db_send(db, db_query("suspect_take"), args, err);
}

int claim_alone_return(struct db *db, struct db_args *args, const struct claimed *event,
                       struct err *err)
{
    put_event(args, event);
    return db_run(db, db_query("suspect_return"), args, NULL, err);
}

int claim_mark_suspect(struct db *db, struct db_args *args, const int64_t *ids, size_t count,
                       struct err *err)
{
    db_args_clear(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, ids[i]);
    db_args_array_end(args);
    return db_run(db, db_query("suspect_mark"), args, NULL, err);
}

int claim_look(struct db *db, struct db_args *args, const struct look_at *at, size_t count,
               struct due *due, struct err *err)
{
    struct db_result *rows;

    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < count; i++)
        db_args_element(args, at[i].provider);
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < count; i++)
        db_args_element(args, str_from(queue_name(at[i].queue)));
    db_args_array_end(args);
    db_args_array_begin(args, DB_TIMESTAMPTZ);
    for (size_t i = 0; i < count; i++)
        db_args_element_time(args, at[i].after.run_at);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, at[i].after.id);
    db_args_array_end(args);
    if (db_run(db, db_query("due_providers"), args, &rows, err) < 0)
        return -1;
    for (int row = 0; row < db_rows(rows); row++) {
        size_t n = (size_t)db_int(rows, row, 0) - 1;

        if (n < count)
            due[n] = (struct due){
                .due = db_bool(rows, row, 1),
                .suspect_due = db_bool(rows, row, 2),
                .due_at = db_is_null(rows, row, 5) ? INT64_MAX : db_time(rows, row, 5),
            };
    }
    db_result_free(rows);
    return 0;
}
