/* Reading results in binary format. A column of another type than the caller says is a mistake of
 * the program's. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/connection.h"

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
