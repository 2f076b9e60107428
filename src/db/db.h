/* A connection to PostgreSQL: libpq behind a face that the rest of the program can read. One
 * connection belongs to one thread; only db_interrupt() may be called from another. Every wait has
 * a deadline of our own (a network that swallows packets must not hold a thread for ever), and
 * every session gets the settings that its correctness depends on, whatever the server's defaults.
 *
 * Statements are files of sql/query, prepared on first use and again after a reconnect. A statement
 * that the server forgot or whose plan may not change any more (26000, 0A000 "cached plan") is
 * prepared anew and repeated once, outside of a transaction only. */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "db/args.h"
#include "db/sqlstate.h"

struct db;
struct db_result;
struct db_query; /* a statement: its name, its text, its number */

struct db_options {
    const char *conninfo;         /* libpq connection string; several hosts allowed */
    const char *application_name; /* shown in pg_stat_activity */
    const char *settings;         /* further "SET ..." statements for the session, or NULL */
    bool read_only_ok; /* false: a host that only reads is skipped (target_session_attrs=read-write)
                        */
    int connect_timeout_ms; /* per host; 0: 3,000 */
};

/* Whether libpq can read a connection string. ERR_NEVER with a text that shows nothing of it: a
 * password may be anywhere in what cannot be read. */
int db_check_conninfo(const char *conninfo, struct err *err) MUST_CHECK;

/* Copies what it needs; does not connect. */
struct db *db_new(const struct db_options *options);
void db_free(struct db *db); /* takes NULL; closes */

/* Connects when there is no live connection; returns at once when there is. ERR_AGAIN, or ERR_NEVER
 * for what only an operator can mend (unknown database, wrong password, encoding other than UTF8).
 */
int db_connect(struct db *db, struct err *err) MUST_CHECK;
bool db_connected(const struct db *db);
void db_disconnect(struct db *db);

/* How long one statement may take from the client's side before the connection is given up, in ms;
 * 0: for ever. */
void db_set_timeout(struct db *db, int timeout_ms);

/* Any thread: asks the server to cancel what runs and makes the waiting thread's call fail with
 * DB_CANCELED or DB_LOST. */
void db_interrupt(struct db *db);

/* ---- statements ---- */

/* The statement of sql/query/NAME.sql; aborts when there is none: a mistake of the program's.
 * Thread-safe. */
const struct db_query *db_query(const char *name);

/* Runs one statement (its own transaction outside of BEGIN). *result may be NULL when no rows are
 * wanted. Results are binary. */
int db_run(struct db *db, const struct db_query *query, struct db_args *args,
           struct db_result **result, struct err *err) MUST_CHECK;

/* Runs plain SQL text, several statements allowed, without parameters: BEGIN, COMMIT, SET,
 * migrations. */
int db_exec(struct db *db, const char *sql, struct err *err) MUST_CHECK;

/* Runs SQL text with parameters, unprepared; results are binary. */
int db_run_text(struct db *db, const char *sql, struct db_args *args, struct db_result **result,
                struct err *err) MUST_CHECK;

/* ---- pipelines: many statements, one round trip ---- */

/* Between begin and end: queue statements with db_send*, mark with db_sync, then read exactly one
 * answer per queued statement and sync with db_receive, in order. After a failed statement the
 * server skips all up to the next sync: those answers are DB_SKIPPED. */
int db_pipeline_begin(struct db *db, struct err *err) MUST_CHECK;
int db_pipeline_end(struct db *db,
                    struct err *err) MUST_CHECK; /* all answers must have been read */
int db_send(struct db *db, const struct db_query *query, struct db_args *args,
            struct err *err) MUST_CHECK;
/* Text that is prepared on first use under a name made from it: BEGIN, SAVEPOINT, calls of
 * handlers. */
int db_send_text(struct db *db, const char *sql, struct db_args *args, struct err *err) MUST_CHECK;
int db_sync(struct db *db, struct err *err) MUST_CHECK;

enum db_answer {
    DB_ROWS,    /* *result is set */
    DB_FAILED,  /* db_fault(), db_sqlstate() and err say why; the connection lives */
    DB_SKIPPED, /* an earlier statement of this pipeline section failed */
    DB_SYNCED,  /* the answer to db_sync */
    DB_GONE,    /* the connection is lost; nothing more can be read */
};
enum db_answer db_receive(struct db *db, struct db_result **result, struct err *err);

/* ---- lending ---- */

struct pg_conn; /* libpq's PGconn */

/* For code that speaks libpq itself, inside of a transaction: in blocking mode, with nothing under
 * way. Nothing else may be done with `db` until it is taken back. */
struct pg_conn *db_lend(struct db *db);
/* 0: it is in its transaction, as it was lent. -1: the borrower left it otherwise, and `err` says
 * how, as something that "it" did; or the connection is lost. Then there may be a transaction to
 * roll back, or no connection. */
int db_take_back(struct db *db, struct err *err) MUST_CHECK;

/* ---- what went wrong last ---- */

enum db_fault db_fault(const struct db *db);  /* kind of the last failure */
const char *db_sqlstate(const struct db *db); /* five characters; "" when the server said none */
const char *db_message(const struct db *db);  /* primary message, "" when none; never contains
                                                 parameters' values of ours */
const char *db_detail(const struct db *db);   /* DETAIL, "" when none */
const char *db_context(const struct db *db);  /* CONTEXT, "" when none */
bool db_in_transaction(const struct db *db);

/* ---- results (binary) ---- */

void db_result_free(struct db_result *result); /* takes NULL */
int db_rows(const struct db_result *result);
bool db_is_null(const struct db_result *result, int row, int column);
/* The column must have the type that the name says; anything else aborts (a mistake of the
 * program's). */
int64_t db_int(const struct db_result *result, int row, int column); /* int2, int4, int8 */
bool db_bool(const struct db_result *result, int row, int column);
double db_float(const struct db_result *result, int row, int column); /* float8 */
int64_t db_time(const struct db_result *result, int row,
                int column); /* timestamptz: us since 2000-01-01 UTC */
struct str db_text(const struct db_result *result, int row,
                   int column); /* text, bytea, name...; borrowed from result */
/* Name of a column; borrowed. */
const char *db_column(const struct db_result *result, int column);
int db_columns(const struct db_result *result);

#endif
