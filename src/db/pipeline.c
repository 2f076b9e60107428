/* Pipelines. Every queued message owes one answer, noted in a ring; a statement that is not
 * prepared yet costs a second message, whose answer is read away here, so that the caller sees one
 * answer per statement. In a section that failed the server skips the rest: what was to be prepared
 * there is not. */
#include <stdlib.h>

#include "base/mem.h"
#include "db/connection.h"

int db_pipeline_begin(struct db *db, struct err *err)
{
    if (!db->conn) {
        db->fault = DB_FAULT_UNAVAILABLE;
        return err_set(err, ERR_AGAIN, "not connected to the database");
    }
    if (!PQenterPipelineMode(db->conn))
        return db_note_lost(db, PQerrorMessage(db->conn), err);
    db->owed_first = db->owed_count = 0;
    return 0;
}

int db_pipeline_end(struct db *db, struct err *err)
{
    if (!db->conn)
        return err_set(err, ERR_AGAIN, "lost the connection to the database");
    if (db->owed_count || !PQexitPipelineMode(db->conn))
        return db_note_lost(db, "a pipeline was left with answers unread", err);
    return 0;
}

static void owe(struct db *db, enum owed_kind kind, struct statement *statement)
{
    if (db->owed_count == db->owed_size) {
        size_t size = db->owed_size ? db->owed_size * 2 : 64;
        struct owed *ring = mem_alloc(size * sizeof(*ring));

        for (size_t i = 0; i < db->owed_count; i++)
            ring[i] = db->owed[(db->owed_first + i) % db->owed_size];
        free(db->owed);
        db->owed = ring;
        db->owed_size = size;
        db->owed_first = 0;
    }
    db->owed[(db->owed_first + db->owed_count++) % db->owed_size] = (struct owed){kind, statement};
}

static int lost(struct db *db, struct err *err)
{
    if (!db->conn)
        return err_set(err, ERR_AGAIN, "lost the connection to the database");
    return db_note_lost(db, PQerrorMessage(db->conn), err);
}

/* Queues the statement; `statement` NULL: the unnamed one, parsed every time. */
static int send(struct db *db, struct statement *statement, const char *sql, struct db_args *args,
                struct err *err)
{
    struct db_args_view view = {0};
    const char *name = "";

    if (!db->conn)
        return lost(db, err);
    if (args)
        view = db_args_view(args);
    if (statement && !statement->prepared)
        db_name_statement(db, statement);
    if (statement)
        name = statement->name;
    if (!statement || !statement->prepared) {
        if (!PQsendPrepare(db->conn, name, sql, view.count, view.types))
            return lost(db, err);
        owe(db, OWED_PREPARE, statement);
        if (statement)
            statement->prepared = true; /* taken back when the answer says otherwise */
    }
    if (!PQsendQueryPrepared(db->conn, name, view.count, view.values, view.lengths, view.formats,
                             1))
        return lost(db, err);
    owe(db, OWED_ROWS, NULL);
    return 0;
}

int db_send(struct db *db, const struct db_query *query, struct db_args *args, struct err *err)
{
    return send(db, db_statement_of_query(db, query), query->text, args, err);
}

int db_send_text(struct db *db, const char *sql, struct db_args *args, struct err *err)
{
    return send(db, db_statement_of_text(db, sql), sql, args, err);
}

int db_sync(struct db *db, struct err *err)
{
    if (!db->conn || !PQpipelineSync(db->conn))
        return lost(db, err);
    owe(db, OWED_SYNC, NULL);
    return db_flush(db, err);
}

/* One result and, for statements, the NULL that ends it. */
static int next_answer(struct db *db, enum owed_kind kind, PGresult **rows, struct err *err)
{
    PGresult *end = NULL;

    if (db_next(db, rows, err) < 0)
        return -1;
    if (!*rows)
        return db_note_lost(db, PQerrorMessage(db->conn), err);
    if (kind == OWED_SYNC)
        return 0;
    if (PQresultStatus(*rows) == PGRES_FATAL_ERROR && PQstatus(db->conn) != CONNECTION_OK)
        return 0; /* nothing more will come */
    if (db_next(db, &end, err) < 0) {
        PQclear(*rows);
        return -1;
    }
    PQclear(end);
    return 0;
}

static struct owed take_owed(struct db *db)
{
    struct owed owed = db->owed[db->owed_first];

    db->owed_first = (db->owed_first + 1) % db->owed_size;
    db->owed_count--;
    return owed;
}

/* Whether the answer to a preparation lets its statement go on; otherwise the caller is told by it.
 */
static bool prepared_well(struct owed owed, const PGresult *rows)
{
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    if (owed.statement)
        owed.statement->prepared = false;
    return false;
}

static enum db_answer fail(struct db *db, PGresult *rows, struct err *err)
{
    db_note_failure(db, rows, err);
    PQclear(rows);
    if (db->fault == DB_FAULT_STALE_PLAN)
        db_forget_statements(db);
    if (!db->conn || db->fatal) {
        db_disconnect(db);
        return DB_GONE;
    }
    return DB_FAILED;
}

enum db_answer db_receive(struct db *db, struct db_result **result, struct err *err)
{
    enum db_answer failure;
    struct owed owed;
    PGresult *rows;

    if (!db->conn || db->owed_count == 0) {
        lost(db, err);
        return DB_GONE;
    }
    owed = take_owed(db);
    if (next_answer(db, owed.kind, &rows, err) < 0)
        return DB_GONE;
    if (owed.kind == OWED_PREPARE) {
        bool well = prepared_well(owed, rows);
        enum db_answer skipped;

        if (well) {
            PQclear(rows);
            return db_receive(db, result, err);
        }
        failure = PQresultStatus(rows) == PGRES_PIPELINE_ABORTED ? DB_SKIPPED : fail(db, rows, err);
        if (failure == DB_GONE)
            return DB_GONE;
        if (failure == DB_SKIPPED)
            PQclear(rows);
        skipped = db_receive(db, NULL, NULL); /* the statement itself, which was skipped */
        return skipped == DB_GONE ? DB_GONE : failure;
    }
    switch ((int)PQresultStatus(rows)) {
    case PGRES_PIPELINE_SYNC:
        PQclear(rows);
        return DB_SYNCED;
    case PGRES_PIPELINE_ABORTED:
        PQclear(rows);
        return DB_SKIPPED;
    case PGRES_FATAL_ERROR:
        return fail(db, rows, err);
    default:
        break;
    }
    if (result) {
        *result = mem_alloc(sizeof(**result));
        (*result)->rows = rows;
    } else {
        PQclear(rows);
    }
    return DB_ROWS;
}
