/* The statements of ingest. Without ordering keys a batch is a single statement, committed by its
 * end; with them the lanes come first, in one transaction and one pipeline: their row locks make
 * the ids of a key grow in the order of their commits. More rows than a statement reads well are
 * several statements of that transaction, with ids that were drawn before them, but never before
 * the locks. */
#include "inbox/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/mem.h"
#include "inbox/columns.h"

/* A statement reads wide columns by walking their arrays, so that its time grows with the square of
 * its rows: 10,000 of them in one take twice as long as in twenty. */
#define STATEMENT_ROWS 500

struct store {
    struct db *db;
    struct db_args *args, *lane_args;
    const struct db_query *batch_query, *lanes_query, *check_query, *count_query;
    struct columns columns;
    int64_t *ids; /* scratch */
    size_t ids_size;
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
    columns_release(&store->columns);
    free(store->ids);
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

/* What store_batch.sql says of each row. A lane may be ready since longer than its new event. */
static void read_results(const struct db_result *result, struct batch_row *rows,
                         int64_t lanes_ready_at)
{
    for (int i = 0; i < db_rows(result); i++) {
        struct store_item *item = rows[db_int(result, i, 0) - 1].item;
        bool stored = !db_is_null(result, i, 1);

        item->result = stored ? STORE_STORED : STORE_DUPLICATE;
        item->id = stored ? db_int(result, i, 1) : 0;
        item->run_at = db_time(result, i, 2);
        if (event_has_lane(&item->event) && lanes_ready_at < item->run_at)
            item->run_at = lanes_ready_at;
        item->same = !db_is_null(result, i, 3) && db_bool(result, i, 3);
    }
}

static const char commit[] = "COMMIT", rollback[] = "ROLLBACK";

/* A transaction on its way. */
struct transaction {
    struct batch_row *rows;
    size_t n;
    bool lanes;
    bool begun;             /* BEGIN and the lanes were answered */
    int64_t lanes_ready_at; /* of those that nobody runs, the earliest; INT64_MAX: there is none */
    const int64_t *ids;     /* NULL: drawn by the statement */
    const char *end;        /* COMMIT or ROLLBACK */
};

/* Answers before those to the statements that store. */
static size_t answers_before(const struct transaction *transaction)
{
    if (transaction->begun)
        return 0;
    return transaction->lanes ? 2 : 1; /* BEGIN, and the lanes */
}

static void read_answer(struct transaction *transaction, size_t answer,
                        const struct db_result *result)
{
    size_t before = answers_before(transaction), first;

    if (answer < before) {
        if (answer == 1 && !db_is_null(result, 0, 0))
            transaction->lanes_ready_at = db_time(result, 0, 0);
        return;
    }
    first = (answer - before) * STATEMENT_ROWS;
    if (first < transaction->n)
        read_results(result, transaction->rows + first, transaction->lanes_ready_at);
}

/* Reads the answers of a section up to the sync; `read` takes them. */
static int receive_answers(struct store *store, struct transaction *transaction,
                           void (*read)(struct transaction *transaction, size_t answer,
                                        const struct db_result *result),
                           struct err *err)
{
    bool failed = false;

    for (size_t answer = 0;; answer++) {
        struct db_result *result = NULL;

        switch (db_receive(store->db, &result, failed ? NULL : err)) {
        case DB_ROWS:
            read(transaction, answer, result);
            db_result_free(result);
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

/* ---- ids ---- */

static const char draw_ids[] =
    "select nextval('inboxd.event_id_seq') from generate_series(1, $1::bigint)";

/* Room for as many ids as there are rows, and the parameter that asks for them. */
static void put_id_count(struct store *store, size_t n)
{
    if (store->ids_size < n) {
        store->ids_size = n;
        store->ids = mem_resize(store->ids, n * sizeof(*store->ids));
    }
    db_args_clear(store->args);
    db_args_int8(store->args, (int64_t)n);
}

static void read_ids(int64_t *ids, const struct db_result *result)
{
    for (int i = 0; i < db_rows(result); i++)
        ids[i] = db_int(result, i, 0);
}

/* Without lanes: when does not matter. */
static int run_draw_ids(struct store *store, size_t n, struct err *err)
{
    struct db_result *result = NULL;

    put_id_count(store, n);
    if (db_run_text(store->db, draw_ids, store->args, &result, err) < 0)
        return note_failure(store);
    read_ids(store->ids, result);
    db_result_free(result);
    return 0;
}

static void read_begin(struct transaction *transaction, size_t answer,
                       const struct db_result *result)
{
    if (answer == 1)
        read_answer(transaction, answer, result);
    else if (answer == 2)
        read_ids((int64_t *)transaction->ids, result);
}

/* ---- transactions ---- */

/* BEGIN, the lanes, and only then the ids, in a section of their own. */
static int begin_with_ids(struct store *store, struct transaction *transaction, struct err *err)
{
    struct db *db = store->db;

    put_id_count(store, transaction->n);
    transaction->ids = store->ids;
    if (db_send_text(db, "BEGIN", NULL, err) < 0 ||
        db_send(db, store->lanes_query, store->lane_args, err) < 0 ||
        db_send_text(db, draw_ids, store->args, err) < 0 || db_sync(db, err) < 0)
        return note_failure(store);
    if (receive_answers(store, transaction, read_begin, err) < 0)
        return -1;
    transaction->begun = true;
    return 0;
}

static int send_begin(struct store *store, const struct transaction *transaction, struct err *err)
{
    if (transaction->begun)
        return 0;
    if (db_send_text(store->db, "BEGIN", NULL, err) < 0)
        return -1;
    return transaction->lanes ? db_send(store->db, store->lanes_query, store->lane_args, err) : 0;
}

static int send_rows(struct store *store, const struct transaction *transaction, struct err *err)
{
    size_t left;

    for (size_t at = 0; at < transaction->n; at += STATEMENT_ROWS) {
        left = transaction->n - at;
        columns_put(&store->columns, store->args, transaction->rows + at,
                    left < STATEMENT_ROWS ? left : STATEMENT_ROWS, transaction->ids);
        if (db_send(store->db, store->batch_query, store->args, err) < 0)
            return -1;
    }
    return 0;
}

static int send_and_receive(struct store *store, struct transaction *transaction, struct err *err)
{
    bool many = transaction->n > STATEMENT_ROWS;
    struct db *db = store->db;

    if (db_pipeline_begin(db, err) < 0)
        return note_failure(store);
    if (many && transaction->lanes && begin_with_ids(store, transaction, err) < 0)
        return -1;
    if (send_begin(store, transaction, err) < 0 || send_rows(store, transaction, err) < 0 ||
        db_send_text(db, transaction->end, NULL, err) < 0 || db_sync(db, err) < 0)
        return note_failure(store);
    return receive_answers(store, transaction, read_answer, err);
}

/* One transaction, in one round trip or two. */
static int run_transaction(struct store *store, struct transaction *transaction, struct err *err)
{
    struct db *db = store->db;
    int rc = send_and_receive(store, transaction, err);

    if (rc == 0 && db_pipeline_end(db, err) == 0)
        return 0;
    if (db_connected(db) && (db_pipeline_end(db, NULL) < 0 ||
                             (db_in_transaction(db) && db_exec(db, "ROLLBACK", NULL) < 0)))
        db_disconnect(db);
    return -1;
}

/* Everything in one statement, which is its own transaction. */
static int run_statement(struct store *store, struct batch_row *rows, size_t n, struct err *err)
{
    struct db_result *result = NULL;

    columns_put(&store->columns, store->args, rows, n, NULL);
    if (db_run(store->db, store->batch_query, store->args, &result, err) < 0)
        return note_failure(store);
    read_results(result, rows, INT64_MAX);
    db_result_free(result);
    return 0;
}

static int run_rows(struct store *store, struct batch_row *rows, size_t n, const char *end,
                    struct err *err)
{
    bool few = n <= STATEMENT_ROWS;
    struct transaction transaction = {
        .rows = rows, .n = n, .end = end, .lanes_ready_at = INT64_MAX};

    columns_rank(&store->columns, rows, n);
    transaction.lanes = columns_put_lanes(&store->columns, store->lane_args, rows, n);
    if (few && !transaction.lanes && end == commit)
        return run_statement(store, rows, n, err);
    if (!few && !transaction.lanes && run_draw_ids(store, n, err) < 0)
        return -1;
    transaction.ids = few ? NULL : store->ids;
    return run_transaction(store, &transaction, err);
}

int store_rows(struct store *store, struct batch_row *rows, size_t n, struct err *err)
{
    if (fault("store.before_send"))
        return lose_connection(store, err);
    if (run_rows(store, rows, n, commit, err) < 0)
        return -1;
    return fault("store.after_commit") ? lose_connection(store, err) : 0;
}

int store_probe(struct store *store, struct batch_row *rows, size_t n, struct err *err)
{
    return run_rows(store, rows, n, rollback, err);
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

static void put_duplicates(struct db_args *args, const struct duplicate *duplicates, size_t n)
{
    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, duplicates[i].provider);
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, duplicates[i].id);
    db_args_array_end(args);
    db_args_array_begin(args, DB_BYTEA);
    for (size_t i = 0; i < n; i++)
        db_args_element(args,
                        (struct str){(const char *)duplicates[i].body_sha256, EVENT_SHA256_SIZE});
    db_args_array_end(args);
}

struct duplicate_finds store_check_duplicates(struct store *store, struct duplicate *duplicates,
                                              size_t n)
{
    struct duplicate_finds finds = {0};
    struct db_result *result = NULL;

    if (count_folded(store, duplicates, n) < 0)
        return finds;
    put_duplicates(store->args, duplicates, n);
    if (db_run(store->db, store->check_query, store->args, &result, NULL) < 0)
        return finds;
    for (int i = 0; i < db_rows(result); i++) {
        struct duplicate *duplicate = &duplicates[db_int(result, i, 0) - 1];

        if (!db_is_null(result, i, 1) && db_bool(result, i, 1)) {
            finds.differing += 1;
            finds.one_differing = duplicate;
            duplicate->differs_from = db_int(result, i, 3);
        }
        if (!db_is_null(result, i, 2)) {
            finds.dead += 1;
            finds.one_dead = duplicate;
            finds.dead_id = db_int(result, i, 2);
        }
    }
    db_result_free(result);
    return finds;
}
