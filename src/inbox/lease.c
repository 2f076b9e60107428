/* Statements of leases, and their rows. Queued statements belong to the caller's pipeline; the
 * others are transactions of their own. */
#include "inbox/lease.h"

#include "base/mem.h"

#define MS 1e3
#define US 1e6

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

static struct claimed read_event(const struct db_result *rows, int row)
{
    bool deferred = !db_is_null(rows, row, 7);
    int64_t now = db_time(rows, row, 9);
    int64_t since = deferred ? db_time(rows, row, 7) : CLAIM_NEVER;

    return (struct claimed){
        .id = db_int(rows, row, 0),
        .token = db_int(rows, row, 1),
        .attempt = (int)db_int(rows, row, 2) + 1,
        .attempt_base = (int)db_int(rows, row, 3),
        .class = WORK_LEASED,
        .event_type = db_text(rows, row, 4),
        .run_at = db_time(rows, row, 5),
        .received_at = db_time(rows, row, 6),
        .deferred_since = since,
        .deferred_for_s = deferred && now > since ? (double)(now - since) / US : 0,
    };
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

        if (db_bool(rows, row, 8))
            result->lapsed++;
        else
            claim->events[claim->count++] = read_event(rows, row);
        result->last = (struct position){db_time(rows, row, 5), db_int(rows, row, 0)};
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

void lease_content_read(const struct db_result *rows, int row, struct lease_content *content)
{
    *content = (struct lease_content){.found = db_bool(rows, row, 1)};
    if (!content->found)
        return;
    content->event_id = db_text(rows, row, 2);
    content->type = db_text(rows, row, 3);
    content->key = db_text(rows, row, 4);
    content->received_at = db_time(rows, row, 5);
    content->headers = db_text(rows, row, 6);
    content->body = db_text(rows, row, 7);
    content->payload = db_text(rows, row, 8);
}
