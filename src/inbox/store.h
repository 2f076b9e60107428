/* Storing one batch of events in one transaction: ledger, event_store, work. Belongs to the thread
 * of its connection. What to do about a failure is the caller's (inbox/committer.h). */
#ifndef INBOX_STORE_H
#define INBOX_STORE_H

#include "db/db.h"
#include "inbox/batch.h"

struct store;

struct store *store_new(struct db *db); /* `db` borrowed */
void store_free(struct store *store);   /* takes NULL */

/* Stores rows[0..n), n > 0, all or none, in one round trip (or two, where they are many). 0:
 * committed; every row's item (not its repeats) has result STORE_STORED with id and run_at, or
 * STORE_DUPLICATE. -1: store_fault() says why; nothing is known to be committed. Connected and
 * outside of a transaction before and after, or not connected. */
int store_rows(struct store *store, struct batch_row *rows, size_t n, struct err *err) MUST_CHECK;

/* Whether PostgreSQL would take rows[0..n): stores them and takes it back. As store_rows(), but
 * nothing is committed, and what items say afterwards means nothing. */
int store_probe(struct store *store, struct batch_row *rows, size_t n, struct err *err) MUST_CHECK;

/* Of the last store_rows() or store_probe() that failed. */
enum db_fault store_fault(const struct store *store);
const char *store_sqlstate(const struct store *store);

/* A duplicate as it is remembered after its sender was answered. */
struct duplicate {
    struct str provider, id;
    unsigned char body_sha256[EVENT_SHA256_SIZE];
    bool folded; /* it never reached the ledger: its first copy came in the same batch */
    const struct event *copy; /* where its bytes may differ from the first delivery's; else NULL */
    int64_t differs_from;     /* 0, or the event whose bytes are others; found by the check */
};

/* What a person may want to know about duplicates: how many of a kind, and one of them. */
struct duplicate_finds {
    size_t differing; /* other bytes than the first delivery */
    const struct duplicate *one_differing;
    size_t dead; /* of an event that is dead, so that this delivery runs nothing either */
    const struct duplicate *one_dead;
    int64_t dead_id; /* of one_dead */
};

/* Compares what was sent again with what is stored, says which differ, counts, and notes
 * redeliveries of dead events. Finds nothing where the database could not say. Best effort: the
 * answers have left. */
struct duplicate_finds store_check_duplicates(struct store *store, struct duplicate *duplicates,
                                              size_t n);

#endif
