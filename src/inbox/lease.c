/* Statements of leases, and their rows. Queued statements belong to the caller's pipeline; the
 * others are transactions of their own. */
#include "inbox/lease.h"

#include "base/mem.h"

#define MS 1e3

int lease_send_claim(struct db *db, struct db_args *args, struct str provider,
                     struct position after, int limit, int64_t lease_ms, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, provider);
    db_args_time(args, after.run_at);
    db_args_int8(args, after.id);
    db_args_int4(args, limit);
    db_args_float8(args, (double)lease_ms / MS);
    return db_send(db, db_query("lease_claim"), args, err);
}

/* Columns of lease_claim.sql. */
enum {
    ID,
    TOKEN,
    ATTEMPT,
    ATTEMPT_BASE,
    EVENT_TYPE,
    DUE_AT,
    RECEIVED_AT,
    DEFERRED_SINCE,
    LAPSED,
    NOW
};

static struct claimed read_event(const struct db_result *rows, int row)
{
    struct claimed event = {
        .id = db_int(rows, row, ID),
        .token = db_int(rows, row, TOKEN),
        .attempt = (int)db_int(rows, row, ATTEMPT) + 1,
        .attempt_base = (int)db_int(rows, row, ATTEMPT_BASE),
        .class = WORK_LEASED,
        .event_type = db_text(rows, row, EVENT_TYPE),
        .run_at = db_time(rows, row, DUE_AT),
        .received_at = db_time(rows, row, RECEIVED_AT),
    };

    claim_read_deferral(&event, rows, row, DEFERRED_SINCE, NOW);
    return event;
}

void lease_read(struct claim *claim, struct db_result *rows, struct lease_claim *result)
{
    size_t count = (size_t)db_rows(rows);

    claim->rows = rows;
    claim->count = 0;
    claim->events = mem_alloc((count + 1) * sizeof(*claim->events));
    *result = (struct lease_claim){.rows = count};
    for (size_t i = 0; i < count; i++) {
        int row = (int)i;

        if (db_bool(rows, row, LAPSED))
            result->lapsed++;
        else
            claim->events[claim->count++] = read_event(rows, row);
        result->last = (struct position){db_time(rows, row, DUE_AT), db_int(rows, row, ID)};
    }
}

int lease_renew(struct db *db, struct db_args *args, const struct lease *leases, size_t count,
                size_t *renewed, struct err *err)
{
    struct db_result *rows;

    db_args_clear(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, leases[i].id);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, leases[i].token);
    db_args_array_end(args);
    db_args_array_begin(args, DB_FLOAT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_float8(args, (double)leases[i].lease_ms / MS);
    db_args_array_end(args);
    if (db_run(db, db_query("lease_renew"), args, &rows, err) < 0)
        return -1;
    *renewed = (size_t)db_rows(rows);
    db_result_free(rows);
    return 0;
}

static void put_ids(struct db_args *args, const struct claimed *events, size_t count)
{
    db_args_clear(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, events[i].id);
    db_args_array_end(args);
}

static void put_leases(struct db_args *args, const struct claimed *events, size_t count)
{
    put_ids(args, events, count);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, events[i].token);
    db_args_array_end(args);
}

int lease_send_take(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
                    struct err *err)
{
    put_leases(args, events, count);
    return db_send(db, db_query("lease_take"), args, err);
}

int lease_send_hold(struct db *db, struct db_args *args, const struct claimed *event,
                    struct err *err)
{
    db_args_clear(args);
    db_args_int8(args, event->id);
    db_args_int8(args, event->token);
    return db_send(db, db_query("lease_hold"), args, err);
}

int lease_release(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
                  bool suspect, struct err *err)
{
    put_leases(args, events, count);
    db_args_bool(args, suspect);
    db_args_bool(args, count == 1 && events[0].counted && !suspect);
    return db_run(db, db_query("lease_release"), args, NULL, err);
}

int lease_load(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
               int64_t max_bytes, bool payloads, struct db_result **rows, struct err *err)
{
    put_ids(args, events, count);
    db_args_int8(args, max_bytes);
    db_args_bool(args, payloads);
    return db_run(db, db_query("lease_load"), args, rows, err);
}

/* Columns of lease_load.sql. */
enum {
    CONTENT_FOUND = 1,
    CONTENT_EVENT_ID,
    CONTENT_TYPE,
    CONTENT_KEY,
    CONTENT_RECEIVED,
    CONTENT_HEADERS,
    CONTENT_BODY,
    CONTENT_PAYLOAD
};

void lease_content_read(const struct db_result *rows, int row, struct lease_content *content)
{
    *content = (struct lease_content){.found = db_bool(rows, row, CONTENT_FOUND)};
    if (!content->found)
        return;
    content->event_id = db_text(rows, row, CONTENT_EVENT_ID);
    content->type = db_text(rows, row, CONTENT_TYPE);
    content->key = db_text(rows, row, CONTENT_KEY);
    content->received_at = db_time(rows, row, CONTENT_RECEIVED);
    content->headers = db_text(rows, row, CONTENT_HEADERS);
    content->body = db_text(rows, row, CONTENT_BODY);
    content->payload = db_text(rows, row, CONTENT_PAYLOAD);
}
