/* Which secrets verified requests: from the providers' counters to those that the keeper writes.
 * Loop thread only. */
#ifndef INGEST_USES_H
#define INGEST_USES_H

#include "inbox/secret_uses.h"
#include "ingest/snapshot.h"

/* Says which secrets the configuration has. */
void uses_configure(struct secret_uses *uses, const struct config *config);

/* Moves what the snapshot's providers have counted. */
void uses_collect(struct secret_uses *uses, struct snapshot *snapshot);

#endif
