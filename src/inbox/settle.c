/* Outcomes as columns of arrays: one statement for what is done, one for the rest. */
#include "inbox/settle.h"

#include <stdlib.h>

#include "base/attr.h"

struct failed {
    const struct claimed *event;
    const struct verdict *verdict;
};

/* The columns of settle_failed.sql from $3 on. */
static void put_id(struct db_args *args, struct failed f)
{
    db_args_element_int8(args, f.event->id);
}

static void put_what(struct db_args *args, struct failed f)
{
    db_args_element(args, str_from(outcome_name(f.verdict->what)));
}

static void put_attempt(struct db_args *args, struct failed f)
{
    db_args_element_int4(args, f.event->attempt - !f.verdict->counts);
}

static void put_attempt_base(struct db_args *args, struct failed f)
{
    db_args_element_int4(args, f.event->attempt_base);
}

static void put_delay(struct db_args *args, struct failed f)
{
    db_args_element_float8(args, f.verdict->delay_s);
}

static void put_error(struct db_args *args, struct failed f)
{
    db_args_element(args, str_from(f.verdict->error));
}

static void put_suspect(struct db_args *args, struct failed f)
{
    db_args_element_bool(args, f.verdict->suspect);
}

static void put_event_type(struct db_args *args, struct failed f)
{
    db_args_element(args, f.event->event_type);
}

static void put_received_at(struct db_args *args, struct failed f)
{
    db_args_element_time(args, f.event->received_at);
}

static void put_deferred_since(struct db_args *args, struct failed f)
{
    if (f.event->deferred_since == CLAIM_NEVER)
        db_args_element_null(args);
    else
        db_args_element_time(args, f.event->deferred_since);
}

static void put_took(struct db_args *args, struct failed f)
{
    if (f.verdict->took_s < 0)
        db_args_element_null(args);
    else
        db_args_element_float8(args, f.verdict->took_s);
}

static void put_more(struct db_args *args, struct failed f)
{
    db_args_element(args, str_from(f.verdict->more));
}

static void put_class(struct db_args *args, struct failed f)
{
    db_args_element(args, str_from(work_class_name(f.event->class)));
}

static void put_lane(struct db_args *args, struct failed f)
{
    db_args_element(args, f.event->lane);
}

static void put_aside(struct db_args *args, struct failed f)
{
    const char *name = aside_name(f.verdict->aside);

    db_args_element(args, name ? str_from(name) : STR_NONE);
}

static const struct {
    enum db_type type;
    void (*put)(struct db_args *args, struct failed failed);
} columns[] = {
    {DB_INT8, put_id},
    {DB_TEXT, put_what},
    {DB_INT4, put_attempt},
    {DB_INT4, put_attempt_base},
    {DB_FLOAT8, put_delay},
    {DB_TEXT, put_error},
    {DB_BOOL, put_suspect},
    {DB_TEXT, put_event_type},
    {DB_TIMESTAMPTZ, put_received_at},
    {DB_TIMESTAMPTZ, put_deferred_since},
    {DB_FLOAT8, put_took},
    {DB_TEXT, put_more},
    {DB_TEXT, put_class},
    {DB_TEXT, put_lane},
    {DB_TEXT, put_aside},
};

void verdict_release(struct verdict *verdict)
{
    free(verdict->error);
    free(verdict->more);
    *verdict = (struct verdict){0};
}

int settle_send_done(struct db *db, struct db_args *args, struct str provider,
                     const struct claimed *events, const struct verdict *verdicts, size_t count,
                     struct err *err)
{
    size_t done = 0;

    db_args_clear(args);
    db_args_text(args, provider);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++) {
        if (verdicts[i].what != OUTCOME_DONE)
            continue;
        db_args_element_int8(args, events[i].id);
        done++;
    }
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT4);
    for (size_t i = 0; i < count; i++)
        if (verdicts[i].what == OUTCOME_DONE)
            db_args_element_int4(args, events[i].attempt);
    db_args_array_end(args);
    if (done == 0)
        return 0;
    return db_send(db, db_query("settle_done"), args, err) < 0 ? -1 : 1;
}

int settle_send_failed(struct db *db, struct db_args *args, struct str provider, struct str worker,
                       const struct claimed *events, const struct verdict *verdicts, size_t count,
                       struct err *err)
{
    bool any = false;

    db_args_clear(args);
    db_args_text(args, provider);
    db_args_text(args, worker);
    for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
        db_args_array_begin(args, columns[c].type);
        for (size_t i = 0; i < count; i++) {
            if (verdicts[i].what == OUTCOME_DONE || verdicts[i].stays)
                continue;
            columns[c].put(args, (struct failed){&events[i], &verdicts[i]});
            any = true;
        }
        db_args_array_end(args);
    }
    if (!any)
        return 0;
    return db_send(db, db_query("settle_failed"), args, err) < 0 ? -1 : 1;
}

int64_t settle_next_run_at(const struct db_result *rows)
{
    if (db_rows(rows) != 1 || db_is_null(rows, 0, 0))
        return INT64_MAX;
    return db_time(rows, 0, 0);
}
