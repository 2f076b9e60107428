/* The table of SQLSTATEs that the program tells apart; a prefix may stand for a class. The first
 * row that fits counts. */
#include "db/sqlstate.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *prefix;  /* beginning of the SQLSTATE */
    const char *message; /* NULL, or a part that the message must have */
    const char *source;  /* NULL, or who must have raised it: the same in each language */
    enum db_fault fault;
} table[] = {
    {"08", NULL, NULL, DB_FAULT_UNAVAILABLE},
    {"25006", NULL, NULL, DB_FAULT_UNAVAILABLE},
    {"53", NULL, NULL, DB_FAULT_UNAVAILABLE},
    {"57014", NULL, NULL, DB_FAULT_CANCELED},
    {"57P", NULL, NULL, DB_FAULT_UNAVAILABLE},
    {"25P03", NULL, NULL,
     DB_FAULT_UNAVAILABLE}, /* idle in transaction for too long: the session is over */
    {"55P03", NULL, NULL, DB_FAULT_LOCKED},
    {"40001", NULL, NULL, DB_FAULT_CONFLICT},
    {"40P01", NULL, NULL, DB_FAULT_CONFLICT},
    {"26000", NULL, NULL, DB_FAULT_STALE_PLAN},
    {"0A000", "cached plan", "RevalidateCachedQuery", DB_FAULT_STALE_PLAN},
    {"XX000", "cache lookup failed for function", NULL, DB_FAULT_STALE_PLAN}, /* it was made anew;
                                                                                 not translated */
    {"23514", "no partition of relation", "ExecFindPartition", DB_FAULT_NO_PARTITION},
    {"3F000", NULL, NULL, DB_FAULT_SCHEMA},
    {"42P01", NULL, NULL, DB_FAULT_SCHEMA},
    {"42883", NULL, NULL, DB_FAULT_SCHEMA},
    {"42703", NULL, NULL, DB_FAULT_SCHEMA},
    {"42704", NULL, NULL, DB_FAULT_SCHEMA},
    {"21", NULL, NULL, DB_FAULT_DATA},
    {"22", NULL, NULL, DB_FAULT_DATA},
    {"23", NULL, NULL, DB_FAULT_DATA},
    {"54", NULL, NULL, DB_FAULT_DATA},
    {"42804", NULL, NULL, DB_FAULT_DATA},
};

static bool fits(size_t row, const char *source, const char *message)
{
    if (source && table[row].source)
        return strcmp(source, table[row].source) == 0;
    return !table[row].message || (message && strstr(message, table[row].message));
}

enum db_fault sqlstate_fault(const char *sqlstate, const char *source, const char *message)
{
    if (!sqlstate || !*sqlstate)
        return DB_FAULT_LOST;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strncmp(sqlstate, table[i].prefix, strlen(table[i].prefix)) == 0 &&
            fits(i, source, message))
            return table[i].fault;
    return DB_FAULT_OTHER;
}

enum err_kind sqlstate_kind(enum db_fault fault)
{
    switch (fault) {
    case DB_FAULT_NONE:
        return ERR_NONE;
    case DB_FAULT_LOST:
    case DB_FAULT_UNAVAILABLE:
    case DB_FAULT_LOCKED:
    case DB_FAULT_CONFLICT:
    case DB_FAULT_CANCELED:
    case DB_FAULT_STALE_PLAN:
    case DB_FAULT_NO_PARTITION:
        return ERR_AGAIN;
    case DB_FAULT_DATA:
        return ERR_INPUT;
    case DB_FAULT_SCHEMA:
    case DB_FAULT_OTHER:
        break;
    }
    return ERR_NEVER;
}
