/* How often each configured secret verified a request: counted in memory, written to
 * inboxd.secret_use_store by the keeper. A secret is known by its reference, never by its value.
 * Thread-safe. */
#ifndef INBOX_SECRET_USES_H
#define INBOX_SECRET_USES_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "db/db.h"

struct secret_uses;

/* One secret of a provider's section. */
struct secret_name {
    struct str provider;
    struct str reference; /* as written: file:/PATH, env:NAME, credential:NAME, text:... */
    int ordinal;          /* from 1, among the provider's secrets with the same reference */
    int number;           /* from 1, among the provider's secrets */
};

struct secret_uses *secret_uses_new(void);
void secret_uses_free(struct secret_uses *uses); /* takes NULL */

/* Which secrets the configuration has from now on. Counts of others are kept until they are
 * written. */
void secret_uses_configure(struct secret_uses *uses, const struct secret_name *names, size_t count);

void secret_uses_add(struct secret_uses *uses, const struct secret_name *name, int64_t count);

/* Writes what was counted since the last time, and once a minute all that are configured. What
 * could not be written is kept for the next time. For one thread at a time. */
int secret_uses_write(struct secret_uses *uses, struct db *db, struct db_args *args,
                      struct err *err) MUST_CHECK;

#endif
