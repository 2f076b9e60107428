/* What the files of src/db share: the connection, its prepared statements and the answers that a
 * pipeline still owes. */
#ifndef DB_CONNECTION_H
#define DB_CONNECTION_H

#include <libpq-fe.h>
#include <pthread.h>

#include "db/db.h"

struct db_query {
    const char *name, *text;
    size_t number; /* in the list of embedded queries */
};

struct db_result {
    PGresult *rows;
};

/* A statement that this session knows, or knew. */
struct statement {
    char *text; /* owned; NULL for those of sql/query, which are found by their number */
    char name[24];
    bool prepared;
};

/* What a queued message will be answered by. */
enum owed_kind { OWED_PREPARE, OWED_ROWS, OWED_SYNC };

struct owed {
    enum owed_kind kind;
    struct statement *statement; /* for OWED_PREPARE */
};

#define TEXT_STATEMENTS_MAX 256

struct db {
    struct db_options options; /* strings owned */
    PGconn *conn;              /* NULL: none */
    int timeout_ms;
    int interrupt_fd;     /* eventfd, readable after db_interrupt() */
    int lent_pid;         /* the server's process that was lent */
    pthread_mutex_t lock; /* guards cancel */
    PGcancel *cancel;

    struct statement *queries; /* one per file of sql/query */
    struct statement *texts[TEXT_STATEMENTS_MAX];
    size_t text_count;
    unsigned generation; /* part of the names, so that a statement prepared anew never meets its old
                            name */

    struct owed *owed; /* ring */
    size_t owed_first, owed_count, owed_size;

    enum db_fault fault;
    bool fatal; /* the last failure ended the session */
    char sqlstate[6],
        noticed[6]; /* noticed: a 57Pxx that came as a notice before the end of the connection */
    char *message, *detail, *context;
};

/* Of a session of ours: `argument` is the struct db. */
void db_on_notice(void *argument, const PGresult *notice);

/* Forgets which statements are prepared. */
void db_forget_statements(struct db *db);
/* Runs the session's settings again. */
int db_restore_session(struct db *db, struct err *err) MUST_CHECK;

struct statement *db_statement_of_query(struct db *db, const struct db_query *query);
/* NULL when too many texts are known: the caller uses the unnamed statement. */
struct statement *db_statement_of_text(struct db *db, const char *sql);
/* Gives the statement a name that this session has not used. */
void db_name_statement(struct db *db, struct statement *statement);

/* So that another thread can cancel what this one will run. */
void db_prepare_cancel(struct db *db);

/* Sends what libpq still holds; waits for an answer. Both -1 with the fault noted when the
 * connection is lost or the time is up. */
int db_flush(struct db *db, struct err *err) MUST_CHECK;
/* The next result, NULL at the end of a statement's results; -1: lost. */
int db_next(struct db *db, PGresult **rows, struct err *err) MUST_CHECK;

/* Notes what a failed result says, and puts it in err; returns -1. */
int db_note_failure(struct db *db, const PGresult *rows, struct err *err);
/* Notes that the connection is gone; returns -1. */
int db_note_lost(struct db *db, const char *why, struct err *err);

#endif
