/* How long rows are kept, and the steps that remove what is older. A step is one small transaction
 * that also notes in inboxd.purge_log what it did. One thread at a time. */
#ifndef INBOX_RETENTION_H
#define INBOX_RETENTION_H

#include <stdint.h>

#include "db/db.h"

enum purge {
    PURGE_DONE,       /* contents of finished events */
    PURGE_DEAD,       /* dead events are given up; only where a horizon is set */
    PURGE_ATTEMPTS,   /* of finished events */
    PURGE_IDS,        /* identities, with whatever is left of their events */
    PURGE_QUARANTINE, /* refused requests */
    PURGE_AUDIT,      /* what operators did */
    PURGES,
};

/* Horizons in milliseconds; 0: for ever. */
struct retain {
    int64_t ms[PURGES];
};

/* Where the purges go on. */
struct retention {
    int64_t after[PURGES];
};

/* -1, or whether there is more to remove at once (1) or not (0). */
int retention_step(struct retention *retention, enum purge purge, const struct retain *retain,
                   struct db *db, struct db_args *args, struct err *err);

#endif
