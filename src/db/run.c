/* Single statements: prepare on first use, run, read the rows. A statement whose plan went stale is
 * prepared anew and repeated once, but never inside of a transaction, which is lost by then. Among
 * them the settings of every session. */

#include "base/mem.h"
#include "db/connection.h"

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

/* What every session sets, so that nobody's ALTER ROLE or ALTER DATABASE changes what the program
 * means. */
static const char session_settings[] =
    "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';"
    "SET default_transaction_deferrable = off; SET timezone = 'UTC'; SET datestyle = 'ISO';"
    "SET intervalstyle = 'iso_8601'; SET bytea_output = 'hex'; SET standard_conforming_strings = "
    "on;"
    "SET search_path = pg_catalog; SET statement_timeout = 0; SET lock_timeout = 0;"
    "SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0;"
    "SET client_connection_check_interval = '2s'; SET client_min_messages = warning;"
    "SET jit = off;";

int db_restore_session(struct db *db, struct err *err)
{
    db_forget_statements(db);
    if (db_exec(db, session_settings, err) < 0)
        return -1;
    return db->options.settings ? db_exec(db, db->options.settings, err) : 0;
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
