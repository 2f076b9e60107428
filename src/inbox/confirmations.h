/* Addresses that a person has to open to complete a subscription: noted in memory, written to
 * inboxd.confirmation by the keeper. Nobody here opens them. Thread-safe. */
#ifndef INBOX_CONFIRMATIONS_H
#define INBOX_CONFIRMATIONS_H

#include "base/str.h"
#include "db/db.h"

struct confirmations;

struct confirmations *confirmations_new(void);
void confirmations_free(struct confirmations *confirmations); /* takes NULL */

/* `source_ip`: ptr NULL where it is not known. The newest few are kept until they are written. */
void confirmations_add(struct confirmations *confirmations, struct str provider, struct str address,
                       struct str source_ip);

/* Writes what was noted; what could not be written is tried again the next time. For one thread at
 * a time. */
int confirmations_write(struct confirmations *confirmations, struct db *db, struct db_args *args,
                        struct err *err) MUST_CHECK;

#endif
