/* Writing refused requests into the table, within their providers' bounds. Belongs to the thread of
 * its connection. */
#ifndef QUARANTINE_KEEP_H
#define QUARANTINE_KEEP_H

#include "db/db.h"
#include "quarantine/refused.h"

struct keep;

struct keep *keep_new(struct db *db); /* `db` borrowed */
void keep_free(struct keep *keep);    /* takes NULL */

/* Writes the list (linked by `next`) in one transaction, all or none, and drops what is beyond the
 * bounds then. -1: nothing is known to be written; db_fault() says why. Connected and outside of a
 * transaction before and after, or not connected. */
int keep_write(struct keep *keep, const struct refused *list, struct err *err) MUST_CHECK;

#endif
