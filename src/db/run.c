/* Single statements: prepare on first use, run, read the rows. A statement whose plan went stale is
 * prepared anew and repeated once, but never inside of a transaction, which is lost by then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "db/connection.h"

#define QUERIES_MAX 128

/* Built on first use, then only read. */
static struct db_query queries[QUERIES_MAX];
static pthread_once_t queries_once = PTHREAD_ONCE_INIT;

static void list_queries(void)
{
    if (embedded_queries_count > QUERIES_MAX)
        abort();
    for (size_t i = 0; i < embedded_queries_count; i++)
        queries[i] = (struct db_query){embedded_queries[i].name, embedded_queries[i].text, i};
}

const struct db_query *db_query(const char *name)
{
    size_t len = strlen(name);

    pthread_once(&queries_once, list_queries);
    for (size_t i = 0; i < embedded_queries_count; i++)
        if (strncmp(queries[i].name, name, len) == 0 && strcmp(queries[i].name + len, ".sql") == 0)
            return &queries[i];
    fprintf(stderr, "inboxd: there is no statement \"%s\" in sql/query\n", name);
    abort();
}

/* ---- prepared statements ---- */

void db_forget_statements(struct db *db)
{
    for (size_t i = 0; i < embedded_queries_count; i++)
        db->queries[i].prepared = false;
    for (size_t i = 0; i < db->text_count; i++)
        db->texts[i]->prepared = false;
}

struct statement *db_statement_of_query(struct db *db, const struct db_query *query)
{
    return &db->queries[query->number];
}

struct statement *db_statement_of_text(struct db *db, const char *sql)
{
    struct statement *statement;

    for (size_t i = 0; i < db->text_count; i++)
        if (strcmp(db->texts[i]->text, sql) == 0)
            return db->texts[i];
    if (db->text_count == TEXT_STATEMENTS_MAX)
        return NULL;
    statement = mem_alloc(sizeof(*statement));
    statement->text = mem_copy(str_from(sql));
    db->texts[db->text_count++] = statement;
    return statement;
}

void db_name_statement(struct db *db, struct statement *statement)
{
    snprintf(statement->name, sizeof(statement->name), "s%u", ++db->generation);
}

/* ---- running ---- */

/* Reads all results of what was sent. The first failure counts; otherwise the last rows do. */
static int collect(struct db *db, struct db_result **result, struct err *err)
{
    PGresult *rows, *last = NULL;
    int failed = 0;

    for (;;) {
        if (db_next(db, &rows, err) < 0) {
            PQclear(last);
            return -1;
        }
        if (!rows)
            break;
        if (PQresultStatus(rows) == PGRES_FATAL_ERROR) {
            if (!failed)
                db_note_failure(db, rows, err);
            failed = 1;
        }
        PQclear(last);
        last = rows;
        if (!db->conn)
            break;
    }
    if (failed) {
        PQclear(last);
        if (db->fatal)
            db_disconnect(db);
        return -1;
    }
    db->fault = DB_FAULT_NONE;
    if (result && last) {
        *result = mem_alloc(sizeof(**result));
        (*result)->rows = last;
    } else {
        PQclear(last);
    }
    return 0;
}

static int not_connected(struct db *db, struct err *err)
{
    db->fault = DB_FAULT_UNAVAILABLE;
    return err_set(err, ERR_AGAIN, "not connected to the database");
}

static int finish(struct db *db, int sent, struct db_result **result, struct err *err)
{
    if (!sent)
        return db_note_lost(db, PQerrorMessage(db->conn), err);
    if (db_flush(db, err) < 0)
        return -1;
    return collect(db, result, err);
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    if (!db->conn)
        return not_connected(db, err);
    return finish(db, PQsendQuery(db->conn, sql), NULL, err);
}

int db_run_text(struct db *db, const char *sql, struct db_args *args, struct db_result **result,
                struct err *err)
{
    struct db_args_view view = {0};

    if (!db->conn)
        return not_connected(db, err);
    if (args)
        view = db_args_view(args);
    return finish(db,
                  PQsendQueryParams(db->conn, sql, view.count, view.types, view.values,
                                    view.lengths, view.formats, 1),
                  result, err);
}

static int run_once(struct db *db, const struct db_query *query, struct db_args *args,
                    struct db_result **result, struct err *err)
{
    struct statement *statement = db_statement_of_query(db, query);
    struct db_args_view view = {0};

    if (!db->conn)
        return not_connected(db, err);
    if (args)
        view = db_args_view(args);
    if (!statement->prepared) {
        db_name_statement(db, statement);
        if (finish(db,
                   PQsendPrepare(db->conn, statement->name, query->text, view.count, view.types),
                   NULL, err) < 0)
            return -1;
        statement->prepared = true;
    }
    return finish(db,
                  PQsendQueryPrepared(db->conn, statement->name, view.count, view.values,
                                      view.lengths, view.formats, 1),
                  result, err);
}

int db_run(struct db *db, const struct db_query *query, struct db_args *args,
           struct db_result **result, struct err *err)
{
    bool in_transaction = db_in_transaction(db);

    if (run_once(db, query, args, result, err) == 0)
        return 0;
    if (db->fault != DB_FAULT_STALE_PLAN)
        return -1;
    db_forget_statements(db);
    if (in_transaction || db_restore_session(db, err) < 0)
        return -1;
    return run_once(db, query, args, result, err);
}
