/* How many requests of each provider were refused, and why: counted in memory, written to
 * inboxd.counters and inboxd.refusal_store by the keeper. What is not written yet is lost with the
 * process. Thread-safe. */
#ifndef INBOX_REFUSAL_COUNTS_H
#define INBOX_REFUSAL_COUNTS_H

#include <stdint.h>

#include "base/str.h"
#include "core/refusal.h"
#include "db/db.h"

struct refusal_counts;

/* A body that was too large. */
struct refusal_size {
    int64_t bytes; /* as announced, or as much as had come */
    int64_t limit;
};

struct refusal_counts *refusal_counts_new(void);
void refusal_counts_free(struct refusal_counts *counts); /* takes NULL */

/* One more. `provider` should be one of the configuration: what was counted once has its place for
 * good. `size`: NULL where it was about something else. */
void refusal_counts_add(struct refusal_counts *counts, struct str provider, enum refusal refusal,
                        const struct refusal_size *size);

/* Writes what was counted since the last time. What could not be written is kept for the next time.
 * For one thread at a time. */
int refusal_counts_write(struct refusal_counts *counts, struct db *db, struct db_args *args,
                         struct err *err) MUST_CHECK;

#endif
