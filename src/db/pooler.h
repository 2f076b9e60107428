/* Whether a connection string leads to sessions of our own. A pooler that gives each transaction
 * another session of the server breaks whatever lasts longer than a transaction: settings, prepared
 * statements, advisory locks, the age of a claim. */
#ifndef DB_POOLER_H
#define DB_POOLER_H

#include "base/err.h"

/* -1: ERR_NEVER where sessions are shared, with what would be right; else as db_connect(). Takes
 * two connections only behind a pooler. */
int pooler_check(const char *conninfo, struct err *err) MUST_CHECK;

#endif
