/* The statements of ingest. Without ordering keys a batch is a single statement, committed by its
 * end; with them the lanes come first, in one transaction and one pipeline: their row locks make
 * the ids of a key grow in the order of their commits. Columns go as binary arrays, the body once:
 * the statement makes `payload` from it. */
#include "inbox/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/mem.h"

struct store {
    struct db *db;
    struct db_args *args, *lane_args;
    const struct db_query *batch_query, *lanes_query, *check_query, *count_query;
    const struct event **lanes; /* scratch */
    size_t lanes_size;
    enum db_fault fault;
    char sqlstate[6];
};

struct store *store_new(struct db *db)
{
    struct store *store = mem_alloc(sizeof(*store));

    store->db = db;
    store->args = db_args_new();
    store->lane_args = db_args_new();
    store->batch_query = db_query("store_batch");
    store->lanes_query = db_query("store_lanes");
    store->check_query = db_query("duplicate_check");
    store->count_query = db_query("count");
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    db_args_free(store->args);
    db_args_free(store->lane_args);
    free(store->lanes);
    free(store);
}

enum db_fault store_fault(const struct store *store)
{
    return store->fault;
}

const char *store_sqlstate(const struct store *store)
{
    return store->sqlstate;
}

/* ---- parameters ---- */

static struct str provider_of(const struct batch_row *row)
{
    return row->item->event.provider;
}

static struct str id_of(const struct batch_row *row)
{
    return row->item->event.id;
}

static struct str type_of(const struct batch_row *row)
{
    return row->item->event.type;
}

static struct str key_of(const struct batch_row *row)
{
    return row->item->event.key;
}

static struct str headers_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_HEADERS ? STR("{}") : row->item->event.headers;
}

static struct str body_of(const struct batch_row *row)
{
    struct str body = row->item->event.body;

    return body.ptr ? body : STR("");
}

static struct str document_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_PAYLOAD ? STR_NONE : row->item->event.document;
}

static struct str source_ip_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_HEADERS ? STR_NONE : row->item->event.source_ip;
}

static struct str class_of(const struct batch_row *row)
{
    return str_from(work_class_name(row->item->event.class));
}

static struct str sha256_of(const struct batch_row *row)
{
    return (struct str){(const char *)row->item->event.body_sha256, EVENT_SHA256_SIZE};
}

static bool has_lane(const struct event *event)
{
    return event->ordered && event->key.ptr;
}

static struct str lane_of(const struct batch_row *row)
{
    return has_lane(&row->item->event) ? row->item->event.key : STR_NONE;
}

static bool is_repaired(const struct batch_row *row)
{
    return row->without == WITHOUT_NOTHING && row->item->event.payload_repaired;
}

static bool has_payload(const struct batch_row *row)
{
    return row->without == WITHOUT_NOTHING && row->item->event.has_payload;
}

static bool is_verified(const struct batch_row *row)
{
    return row->item->event.signature_verified;
}

static void put_column(struct db_args *args, enum db_type type, const struct batch_row *rows,
                       size_t n, struct str (*value)(const struct batch_row *row))
{
    db_args_array_begin(args, type);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, value(&rows[i]));
    db_args_array_end(args);
}

static void put_flags(struct db_args *args, const struct batch_row *rows, size_t n,
                      bool (*value)(const struct batch_row *row))
{
    db_args_array_begin(args, DB_BOOL);
    for (size_t i = 0; i < n; i++)
        db_args_element_bool(args, value(&rows[i]));
    db_args_array_end(args);
}

/* The parameters of store_batch.sql, in its order. */
static void put_batch(struct db_args *args, const struct batch_row *rows, size_t n)
{
    db_args_clear(args);
    put_column(args, DB_TEXT, rows, n, provider_of);
    put_column(args, DB_TEXT, rows, n, id_of);
    put_column(args, DB_TEXT, rows, n, type_of);
    put_column(args, DB_TEXT, rows, n, key_of);
    put_column(args, DB_TEXT, rows, n, headers_of);
    put_column(args, DB_BYTEA, rows, n, body_of);
    put_column(args, DB_TEXT, rows, n, document_of);
    put_flags(args, rows, n, is_repaired);
    put_flags(args, rows, n, has_payload);
    put_flags(args, rows, n, is_verified);
    put_column(args, DB_TEXT, rows, n, source_ip_of);
    put_column(args, DB_TEXT, rows, n, class_of);
    put_column(args, DB_BYTEA, rows, n, sha256_of);
    put_column(args, DB_TEXT, rows, n, lane_of);
}

static int compare_lanes(const void *left, const void *right)
{
    const struct event *a = *(const struct event *const *)left;
    const struct event *b = *(const struct event *const *)right;
    int order = str_compare(a->provider, b->provider);

    return order ? order : str_compare(a->key, b->key);
}

/* The parameters of store_lanes.sql: each lane once, sorted by bytes. Returns how many. */
static size_t put_lanes(struct store *store, const struct batch_row *rows, size_t n)
{
    size_t found = 0, kept = 0;

    if (store->lanes_size < n) {
        store->lanes_size = n;
        store->lanes = mem_resize(store->lanes, n * sizeof(*store->lanes));
    }
    for (size_t i = 0; i < n; i++)
        if (has_lane(&rows[i].item->event))
            store->lanes[found++] = &rows[i].item->event;
    if (found == 0)
        return 0;
    qsort(store->lanes, found, sizeof(*store->lanes), compare_lanes);
    for (size_t i = 0; i < found; i++)
        if (kept == 0 || compare_lanes(&store->lanes[kept - 1], &store->lanes[i]) != 0)
            store->lanes[kept++] = store->lanes[i];
    db_args_clear(store->lane_args);
    db_args_array_begin(store->lane_args, DB_TEXT);
    for (size_t i = 0; i < kept; i++)
        db_args_element(store->lane_args, store->lanes[i]->provider);
    db_args_array_end(store->lane_args);
    db_args_array_begin(store->lane_args, DB_TEXT);
    for (size_t i = 0; i < kept; i++)
        db_args_element(store->lane_args, store->lanes[i]->key);
    db_args_array_end(store->lane_args);
    return kept;
}

/* ---- running ---- */

/* Remembers why, before a clean-up overwrites it. */
static int note_failure(struct store *store)
{
    store->fault = db_fault(store->db);
    snprintf(store->sqlstate, sizeof(store->sqlstate), "%s", db_sqlstate(store->db));
    return -1;
}

/* As if the connection had been lost at this point. */
static int lose_connection(struct store *store, struct err *err)
{
    db_disconnect(store->db);
    store->fault = DB_FAULT_LOST;
    store->sqlstate[0] = '\0';
    return err_set(err, ERR_AGAIN, "lost the connection to the database on purpose");
}

/* Reads the answers of the pipeline of store_with_lanes(): BEGIN, lanes, batch, COMMIT and the
 * sync. */
static int receive_answers(struct store *store, struct db_result **result, struct err *err)
{
    bool failed = false;

    for (int answer = 0;; answer++) {
        struct db_result *rows = NULL;

        switch (db_receive(store->db, &rows, failed ? NULL : err)) {
        case DB_ROWS:
            if (answer == 2)
                *result = rows;
            else
                db_result_free(rows);
            break;
        case DB_FAILED:
            note_failure(store);
            failed = true;
            break;
        case DB_SKIPPED:
            break;
        case DB_SYNCED:
            return failed ? -1 : 0;
        case DB_GONE:
            return failed ? -1 : note_failure(store);
        }
    }
}

static int store_with_lanes(struct store *store, struct db_result **result, struct err *err)
{
    struct db *db = store->db;

    if (db_pipeline_begin(db, err) < 0 || db_send_text(db, "BEGIN", NULL, err) < 0 ||
        db_send(db, store->lanes_query, store->lane_args, err) < 0 ||
        db_send(db, store->batch_query, store->args, err) < 0 ||
        db_send_text(db, "COMMIT", NULL, err) < 0 || db_sync(db, err) < 0)
        return note_failure(store);
    if (receive_answers(store, result, err) == 0 && db_pipeline_end(db, err) == 0)
        return 0;
    db_result_free(*result);
    *result = NULL;
    if (db_connected(db) && (db_pipeline_end(db, NULL) < 0 ||
                             (db_in_transaction(db) && db_exec(db, "ROLLBACK", NULL) < 0)))
        db_disconnect(db);
    return -1;
}

/* What store_batch.sql says of each row. */
static void read_results(const struct db_result *result, struct batch_row *rows)
{
    for (int i = 0; i < db_rows(result); i++) {
        struct store_item *item = rows[db_int(result, i, 0) - 1].item;
        bool stored = !db_is_null(result, i, 1);

        item->result = stored ? STORE_STORED : STORE_DUPLICATE;
        item->id = stored ? db_int(result, i, 1) : 0;
        item->run_at = db_time(result, i, 2);
    }
}

int store_rows(struct store *store, struct batch_row *rows, size_t n, struct err *err)
{
    struct db_result *result = NULL;
    int rc;

    put_batch(store->args, rows, n);
    if (fault("store.before_send"))
        return lose_connection(store, err);
    if (put_lanes(store, rows, n) > 0) {
        rc = store_with_lanes(store, &result, err);
    } else {
        rc = db_run(store->db, store->batch_query, store->args, &result, err);
        if (rc < 0)
            note_failure(store);
    }
    if (rc < 0)
        return -1;
    if (fault("store.after_commit")) {
        db_result_free(result);
        return lose_connection(store, err);
    }
    read_results(result, rows);
    db_result_free(result);
    return 0;
}

/* ---- duplicates ---- */

/* Copies that never reached the ledger are counted here, a row a provider (they lie side by side);
 * the others were counted with their batch. */
static int count_folded(struct store *store, const struct duplicate *duplicates, size_t n)
{
    struct db_args *args = store->args;
    size_t providers = 0;
    int64_t *counts = mem_alloc(n * sizeof(*counts));
    const struct duplicate *last = NULL;
    int rc = 0;

    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < n; i++) {
        if (!duplicates[i].folded)
            continue;
        if (!last || !str_equal(last->provider, duplicates[i].provider)) {
            db_args_element(args, duplicates[i].provider);
            providers++;
        }
        counts[providers - 1]++;
        last = &duplicates[i];
    }
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < providers; i++)
        db_args_element_int8(args, counts[i]);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < providers; i++)
        db_args_element_int8(args, 0);
    db_args_array_end(args);
    if (providers > 0)
        rc = db_run(store->db, store->count_query, args, NULL, NULL);
    free(counts);
    return rc;
}

int store_check_duplicates(struct store *store, const struct duplicate *duplicates, size_t n,
                           size_t *differing)
{
    struct db_result *result = NULL;
    int found = -1;

    *differing = 0;
    if (count_folded(store, duplicates, n) < 0)
        return -1;
    db_args_clear(store->args);
    db_args_array_begin(store->args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(store->args, duplicates[i].provider);
    db_args_array_end(store->args);
    db_args_array_begin(store->args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(store->args, duplicates[i].id);
    db_args_array_end(store->args);
    db_args_array_begin(store->args, DB_BYTEA);
    for (size_t i = 0; i < n; i++)
        db_args_element(store->args,
                        (struct str){(const char *)duplicates[i].body_sha256, EVENT_SHA256_SIZE});
    db_args_array_end(store->args);
    if (db_run(store->db, store->check_query, store->args, &result, NULL) < 0)
        return -1;
    for (int i = 0; i < db_rows(result); i++) {
        if (db_is_null(result, i, 1) || !db_bool(result, i, 1))
            continue;
        *differing += 1;
        found = (int)db_int(result, i, 0) - 1;
    }
    db_result_free(result);
    return found;
}
