/* What went wrong last: noted where it is met, asked for by the caller. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "db/connection.h"

#define LONGEST_MESSAGE 8192

enum db_fault db_fault(const struct db *db)
{
    return db->fault;
}

const char *db_sqlstate(const struct db *db)
{
    return db->sqlstate;
}

const char *db_message(const struct db *db)
{
    return db->message;
}

const char *db_detail(const struct db *db)
{
    return db->detail;
}

const char *db_context(const struct db *db)
{
    return db->context;
}

/* Keeps a text, cut at a character boundary with its length noted: a server may send megabytes. */
static void keep(char **place, const char *text)
{
    struct str all = str_from(text ? text : ""), cut = utf8_cut(all, LONGEST_MESSAGE);

    free(*place);
    *place = cut.len == all.len ? mem_copy(all)
                                : mem_printf("%.*s [cut, %zu bytes in all]", STR_ARG(cut), all.len);
}

int db_note_failure(struct db *db, const PGresult *rows, struct err *err)
{
    const char *sqlstate = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(rows, PG_DIAG_MESSAGE_PRIMARY);
    const char *severity = PQresultErrorField(rows, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (!sqlstate)
        return db_note_lost(db, PQresultErrorMessage(rows), err);
    snprintf(db->sqlstate, sizeof(db->sqlstate), "%s", sqlstate);
    keep(&db->message, primary);
    keep(&db->detail, PQresultErrorField(rows, PG_DIAG_MESSAGE_DETAIL));
    keep(&db->context, PQresultErrorField(rows, PG_DIAG_CONTEXT));
    db->fault =
        sqlstate_fault(sqlstate, PQresultErrorField(rows, PG_DIAG_SOURCE_FUNCTION), primary);
    db->fatal = PQstatus(db->conn) != CONNECTION_OK || (severity && strcmp(severity, "ERROR") != 0);
    return err_set(err, sqlstate_kind(db->fault), "database: %s (%s)", db->message, sqlstate);
}

int db_note_lost(struct db *db, const char *why, struct err *err)
{
    struct str line = {why, strcspn(why, "\n")};
    char *message = mem_printf("%.*s", STR_ARG(line)); /* `why` may belong to the connection */

    /* The server's own last words, where it had any, say that nothing of ours was to blame. */
    snprintf(db->sqlstate, sizeof(db->sqlstate), "%s", db->noticed);
    db->fault = db->noticed[0] ? sqlstate_fault(db->noticed, NULL, NULL) : DB_FAULT_LOST;
    db->fatal = true;
    keep(&db->message, message);
    keep(&db->detail, "");
    keep(&db->context, "");
    err_set(err, ERR_AGAIN, "lost the connection to the database: %s", message);
    free(message);
    db_disconnect(db);
    return -1;
}
