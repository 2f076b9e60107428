/* Connecting: what a connection string may say, and what a server has to be. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/connection.h"

#define CONNECT_TIMEOUT_MS 3000

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
    db_prepare_cancel(db);
    if (db_restore_session(db, err) < 0) {
        db_disconnect(db);
        return err_prefix(err, "could not set up the database session");
    }
    return 0;
}
