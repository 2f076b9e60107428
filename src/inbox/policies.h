/* What a daemon runs its providers with, in the table inboxd.provider_policy: SQL functions that
 * make an event run again, or run it elsewhere, have no other way to know. Thread-safe. */
#ifndef INBOX_POLICIES_H
#define INBOX_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#include "core/backoff.h"
#include "core/event.h"
#include "db/db.h"

struct policies;

/* One provider's. */
struct policy {
    struct str provider;
    enum work_class class; /* pull where events with an order are pulled, else of those that no
                              pattern fits */
    struct str order;      /* "none", "serial" or "strict" */
    int attempts;
    struct backoff backoff;
    int64_t defer_ms, defer_limit_ms, timeout_ms;
};

struct policies *policies_new(void);
void policies_free(struct policies *policies); /* takes NULL */

/* These from now on. Copies what it needs. */
void policies_configure(struct policies *policies, const struct policy *list, size_t count);

/* Writes them, once after each policies_configure(): of two daemons that differ, the one that was
 * told last wins. For one thread at a time. */
int policies_write(struct policies *policies, struct db *db, struct db_args *args,
                   struct err *err) MUST_CHECK;

#endif
