/* Connecting, the session's settings, and waiting on the socket with a deadline. The connection is
 * non-blocking for libpq; each call here blocks its thread in poll(), together with an eventfd by
 * which db_interrupt() reaches it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/mem.h"
#include "db/connection.h"

#define CONNECT_TIMEOUT_MS 3000
#define CANCEL_GRACE_MS 1000

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

static char *copy_text(const char *text)
{
    return text ? mem_copy(str_from(text)) : NULL;
}

struct db *db_new(const struct db_options *options)
{
    struct db *db = mem_alloc(sizeof(*db));

    db->options = *options;
    db->options.conninfo = copy_text(options->conninfo);
    db->options.application_name = copy_text(options->application_name);
    db->options.settings = copy_text(options->settings);
    db->queries = mem_alloc((embedded_queries_count + 1) * sizeof(*db->queries));
    db->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (db->interrupt_fd < 0)
        abort();
    pthread_mutex_init(&db->lock, NULL);
    db->message = copy_text("");
    db->detail = copy_text("");
    db->context = copy_text("");
    return db;
}

void db_free(struct db *db)
{
    if (!db)
        return;
    db_disconnect(db);
    for (size_t i = 0; i < db->text_count; i++) {
        free(db->texts[i]->text);
        free(db->texts[i]);
    }
    free((char *)db->options.conninfo);
    free((char *)db->options.application_name);
    free((char *)db->options.settings);
    free(db->queries);
    free(db->owed);
    free(db->message);
    free(db->detail);
    free(db->context);
    close(db->interrupt_fd);
    pthread_mutex_destroy(&db->lock);
    free(db);
}

void db_disconnect(struct db *db)
{
    pthread_mutex_lock(&db->lock);
    PQfreeCancel(db->cancel);
    db->cancel = NULL;
    pthread_mutex_unlock(&db->lock);
    PQfinish(db->conn);
    db->conn = NULL;
    db->owed_first = db->owed_count = 0;
    db_forget_statements(db);
}

void db_set_timeout(struct db *db, int timeout_ms)
{
    db->timeout_ms = timeout_ms;
}

bool db_connected(const struct db *db)
{
    return db->conn && PQstatus(db->conn) == CONNECTION_OK;
}

bool db_in_transaction(const struct db *db)
{
    return db_connected(db) && PQtransactionStatus(db->conn) != PQTRANS_IDLE;
}

/* A server that shuts down tells its clients by a notice when it has no time for an error (crash of
 * another backend). */
void db_on_notice(void *argument, const PGresult *notice)
{
    struct db *db = argument;
    const char *sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    if (sqlstate && strncmp(sqlstate, "57P", 3) == 0)
        snprintf(db->noticed, sizeof(db->noticed), "%s", sqlstate);
}

/* The first line of libpq's message, which may have many. */
static struct str first_line(const char *text)
{
    return (struct str){text, strcspn(text, "\n")};
}

static int refuse_connection(struct db *db, enum err_kind kind, const char *why, struct err *err)
{
    struct str line = first_line(why);

    err_set(err, kind, "could not connect to the database: %.*s", STR_ARG(line));
    db->fault = DB_FAULT_UNAVAILABLE;
    db_disconnect(db);
    return -1;
}

/* libpq 15 gives no SQLSTATE for a refused connection; these two texts are all that tells an
 * operator's mistake. */
static enum err_kind connect_error_kind(const char *message)
{
    if (strstr(message, "authentication failed") || strstr(message, "\" does not exist"))
        return ERR_NEVER;
    return ERR_AGAIN;
}

/* libpq's own messages quote the part that they stumble over, which may be of a password. */
int db_check_conninfo(const char *conninfo, struct err *err)
{
    PQconninfoOption *options;
    bool at_in_host = false;

    if (!strchr(conninfo, '=') && !strstr(conninfo, "://"))
        return 0; /* the name of a database */
    options = PQconninfoParse(conninfo, NULL);
    if (!options)
        return err_set(err, ERR_NEVER,
                       "the connection string cannot be read; write KEY=VALUE pairs with blanks "
                       "between them (host=... dbname=... user=... password=...), values that hold "
                       "a blank in '...', or postgresql://USER:PASSWORD@HOST/DBNAME with %%40 for "
                       "an @ of the password");
    for (const PQconninfoOption *option = options; option->keyword; option++)
        if (strcmp(option->keyword, "host") == 0 && option->val && option->val[0] != '@' &&
            option->val[0] != '/' && strchr(option->val, '@'))
            at_in_host = true;
    PQconninfoFree(options);
    if (at_in_host)
        return err_set(err, ERR_NEVER,
                       "the connection string has an @ in its host; write %%40 for an @ of the "
                       "user or the password");
    return 0;
}

static PGconn *open_connection(const struct db *db)
{
    char timeout[16];
    int ms = db->options.connect_timeout_ms ? db->options.connect_timeout_ms : CONNECT_TIMEOUT_MS;
    /* What stands before dbname may be overridden by the user's connection string, what stands
     * behind may not. */
    const char *const names[] = {"connect_timeout",
                                 "target_session_attrs",
                                 "keepalives",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "tcp_user_timeout",
                                 "dbname",
                                 "application_name",
                                 "client_encoding",
                                 NULL};
    const char *const values[] = {timeout,
                                  db->options.read_only_ok ? "any" : "read-write",
                                  "1",
                                  "10",
                                  "5",
                                  "3",
                                  "10000",
                                  db->options.conninfo,
                                  db->options.application_name,
                                  "UTF8",
                                  NULL};

    snprintf(timeout, sizeof(timeout), "%d", (ms + 999) / 1000);
    return PQconnectdbParams(names, values, 1);
}

int db_restore_session(struct db *db, struct err *err)
{
    db_forget_statements(db);
    if (db_exec(db, session_settings, err) < 0)
        return -1;
    return db->options.settings ? db_exec(db, db->options.settings, err) : 0;
}

/* Whether an idle connection still stands: a server that went away has left its end of file to be
 * read. */
static bool still_alive(struct db *db)
{
    struct pollfd fd = {.fd = PQsocket(db->conn), .events = POLLIN};

    if (PQstatus(db->conn) != CONNECTION_OK || PQpipelineStatus(db->conn) != PQ_PIPELINE_OFF)
        return false;
    if (db_in_transaction(db))
        return true;
    if (poll(&fd, 1, 0) <= 0)
        return true;
    if (!PQconsumeInput(db->conn))
        return false;
    PQisBusy(db->conn); /* has libpq read the messages, a FATAL one among them */
    return PQstatus(db->conn) == CONNECTION_OK && db->noticed[0] == '\0';
}

/* So that another thread can cancel what this one will run. */
static void prepare_cancel(struct db *db)
{
    pthread_mutex_lock(&db->lock);
    if (!db->cancel)
        db->cancel = PQgetCancel(db->conn);
    pthread_mutex_unlock(&db->lock);
}

int db_connect(struct db *db, struct err *err)
{
    uint64_t old_interrupts;
    const char *encoding;

    if (db->conn && still_alive(db))
        return 0;
    db_disconnect(db);
    db->noticed[0] = '\0';
    if (db_check_conninfo(db->options.conninfo, err) < 0) {
        db->fault = DB_FAULT_UNAVAILABLE;
        return -1;
    }
    db->conn = open_connection(db);
    if (!db->conn || PQstatus(db->conn) != CONNECTION_OK) {
        const char *message = db->conn ? PQerrorMessage(db->conn) : "out of memory";

        return refuse_connection(db, connect_error_kind(message), message, err);
    }
    encoding = PQparameterStatus(db->conn, "server_encoding");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return refuse_connection(db, ERR_NEVER,
                                 "its encoding is not UTF8; create it with encoding UTF8", err);
    PQsetNoticeReceiver(db->conn, db_on_notice, db);
    PQsetnonblocking(db->conn, 1);
    (void)!read(db->interrupt_fd, &old_interrupts, sizeof(old_interrupts));
    prepare_cancel(db);
    if (db_restore_session(db, err) < 0) {
        db_disconnect(db);
        return err_prefix(err, "could not set up the database session");
    }
    return 0;
}

/* Its own thread, because PQcancel() waits for the server without a limit, and the network may have
 * swallowed it. Owns the PGcancel. */
static void *send_cancel(void *argument)
{
    char why[128];

    PQcancel(argument, why, sizeof(why));
    PQfreeCancel(argument);
    return NULL;
}

void db_interrupt(struct db *db)
{
    uint64_t one = 1;
    PGcancel *cancel;
    pthread_t thread;

    pthread_mutex_lock(&db->lock);
    cancel = db->cancel;
    db->cancel = NULL; /* the waiting thread makes another */
    pthread_mutex_unlock(&db->lock);
    (void)!write(db->interrupt_fd, &one, sizeof(one));
    if (!cancel)
        return;
    if (pthread_create(&thread, NULL, send_cancel, cancel) == 0)
        pthread_detach(thread);
    else
        PQfreeCancel(cancel);
}

/* ---- waiting ---- */

static int64_t deadline_in(int timeout_ms)
{
    return timeout_ms > 0 ? clock_mono_us() + (int64_t)timeout_ms * 1000 : INT64_MAX;
}

static int remaining_ms(int64_t deadline)
{
    int64_t left;

    if (deadline == INT64_MAX)
        return -1;
    left = (deadline - clock_mono_us() + 999) / 1000;
    return left > 0 ? (int)left : 0;
}

/* One poll(). 0: the socket is ready for something; -1: the time is up. An interrupt shortens the
 * deadline: the server has been asked to cancel and gets a moment to say so. */
static int wait_for_socket(struct db *db, short events, int64_t *deadline)
{
    struct pollfd fds[2] = {{.fd = PQsocket(db->conn), .events = events},
                            {.fd = db->interrupt_fd, .events = POLLIN}};
    uint64_t interrupts;
    int ready = poll(fds, 2, remaining_ms(*deadline));

    if (ready < 0 && errno == EINTR)
        return 0;
    if (ready <= 0)
        return -1;
    if ((fds[1].revents & POLLIN) && read(db->interrupt_fd, &interrupts, sizeof(interrupts)) > 0) {
        int64_t grace = deadline_in(CANCEL_GRACE_MS);

        if (grace < *deadline)
            *deadline = grace;
        prepare_cancel(db);
    }
    return 0;
}

int db_flush(struct db *db, struct err *err)
{
    int64_t deadline = deadline_in(db->timeout_ms);
    int left;

    while ((left = PQflush(db->conn)) > 0) {
        if (wait_for_socket(db, POLLIN | POLLOUT, &deadline) < 0)
            return db_note_lost(db, "it did not take the statement in time", err);
        if (!PQconsumeInput(db->conn))
            return db_note_lost(db, PQerrorMessage(db->conn), err);
    }
    return left < 0 ? db_note_lost(db, PQerrorMessage(db->conn), err) : 0;
}

int db_next(struct db *db, PGresult **rows, struct err *err)
{
    int64_t deadline = deadline_in(db->timeout_ms);

    while (PQisBusy(db->conn)) {
        if (PQflush(db->conn) < 0 || wait_for_socket(db, POLLIN, &deadline) < 0)
            return db_note_lost(db, "it did not answer in time", err);
        if (!PQconsumeInput(db->conn))
            break; /* PQgetResult has the last words of the server, if there are any */
    }
    *rows = PQgetResult(db->conn);
    return 0;
}
