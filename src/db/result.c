/* Reading results in binary format, and noting failures. A column of another type than the caller
 * says is a mistake of the program's. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "db/connection.h"

#define LONGEST_MESSAGE 8192

void db_result_free(struct db_result *result)
{
    if (!result)
        return;
    PQclear(result->rows);
    free(result);
}

int db_rows(const struct db_result *result)
{
    return PQntuples(result->rows);
}

int db_columns(const struct db_result *result)
{
    return PQnfields(result->rows);
}

const char *db_column(const struct db_result *result, int column)
{
    return PQfname(result->rows, column);
}

bool db_is_null(const struct db_result *result, int row, int column)
{
    return PQgetisnull(result->rows, row, column);
}

/* The bytes of a value that must have `len` of them and one of the types. */
static const char *value_of(const struct db_result *result, int row, int column, Oid type, int len)
{
    if (PQftype(result->rows, column) != type || PQgetlength(result->rows, row, column) != len) {
        fprintf(stderr, "inboxd: column %s has type %u and %d bytes, not type %u and %d bytes\n",
                PQfname(result->rows, column), PQftype(result->rows, column),
                PQgetlength(result->rows, row, column), type, len);
        abort();
    }
    return PQgetvalue(result->rows, row, column);
}

static int64_t int64_of(const struct db_result *result, int row, int column, Oid type)
{
    uint64_t wire;

    memcpy(&wire, value_of(result, row, column, type, 8), sizeof(wire));
    return (int64_t)be64toh(wire);
}

int64_t db_int(const struct db_result *result, int row, int column)
{
    uint16_t wire16;
    uint32_t wire32;

    switch (PQftype(result->rows, column)) {
    case DB_INT2:
        memcpy(&wire16, value_of(result, row, column, DB_INT2, 2), sizeof(wire16));
        return (int16_t)be16toh(wire16);
    case DB_INT4:
        memcpy(&wire32, value_of(result, row, column, DB_INT4, 4), sizeof(wire32));
        return (int32_t)be32toh(wire32);
    default:
        return int64_of(result, row, column, DB_INT8);
    }
}

bool db_bool(const struct db_result *result, int row, int column)
{
    return *value_of(result, row, column, DB_BOOL, 1) != 0;
}

double db_float(const struct db_result *result, int row, int column)
{
    int64_t bits = int64_of(result, row, column, DB_FLOAT8);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

int64_t db_time(const struct db_result *result, int row, int column)
{
    return int64_of(result, row, column, DB_TIMESTAMPTZ);
}

struct str db_text(const struct db_result *result, int row, int column)
{
    if (PQgetisnull(result->rows, row, column))
        return STR_NONE;
    return (struct str){PQgetvalue(result->rows, row, column),
                        (size_t)PQgetlength(result->rows, row, column)};
}

/* ---- failures ---- */

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
    db->fault = sqlstate_fault(sqlstate, db->message);
    db->fatal = PQstatus(db->conn) != CONNECTION_OK || (severity && strcmp(severity, "ERROR") != 0);
    return err_set(err, sqlstate_kind(db->fault), "database: %s (%s)", db->message, sqlstate);
}

int db_note_lost(struct db *db, const char *why, struct err *err)
{
    struct str line = {why, strcspn(why, "\n")};
    char *message = mem_printf("%.*s", STR_ARG(line)); /* `why` may belong to the connection */

    /* The server's own last words, where it had any, say that nothing of ours was to blame. */
    snprintf(db->sqlstate, sizeof(db->sqlstate), "%s", db->noticed);
    db->fault = db->noticed[0] ? sqlstate_fault(db->noticed, "") : DB_FAULT_LOST;
    db->fatal = true;
    keep(&db->message, message);
    keep(&db->detail, "");
    keep(&db->context, "");
    err_set(err, ERR_AGAIN, "lost the connection to the database: %s", message);
    free(message);
    db_disconnect(db);
    return -1;
}
