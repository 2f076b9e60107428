/* What a failure of a statement means for the caller: SQLSTATE (PostgreSQL manual, appendix A) ->
 * kind. Pure, any thread. */
#ifndef DB_SQLSTATE_H
#define DB_SQLSTATE_H

#include "base/err.h"

enum db_fault {
    DB_FAULT_NONE,
    DB_FAULT_LOST, /* the connection is gone and nobody knows why: what ran may have been its cause
                    */
    DB_FAULT_UNAVAILABLE, /* the server cannot serve now: 08xxx, 25006 read-only, 53xxx resources,
                             57Pxx shutdown, crash of another backend */
    DB_FAULT_LOCKED,      /* 55P03: somebody holds what we need; lock_timeout */
    DB_FAULT_CONFLICT,    /* 40001, 40P01: run it again */
    DB_FAULT_CANCELED,    /* 57014: statement_timeout or a cancel */
    DB_FAULT_STALE_PLAN, /* 26000, 0A000 "cached plan must not change result type": prepare again */
    DB_FAULT_NO_PARTITION, /* 23514 "no partition of relation ... found for row" */
    DB_FAULT_DATA,         /* the values: 21xxx, 22xxx, 23xxx, 54xxx, 42804 ... */
    DB_FAULT_SCHEMA,       /* 3F000, 42P01, 42883, 42703: what the statement needs is not there */
    DB_FAULT_OTHER,
};

/* Between the cases of 0A000 and 23514 decides `source`, the server's function that raised it:
 * messages are in the language of lc_messages. NULL: not known, then the English message does. */
enum db_fault sqlstate_fault(const char *sqlstate, const char *source, const char *message);

/* Whose turn it is: ERR_AGAIN for what may work later, ERR_INPUT for the values, ERR_NEVER for the
 * rest. */
enum err_kind sqlstate_kind(enum db_fault fault);

#endif
