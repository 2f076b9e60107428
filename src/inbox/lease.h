/* Claiming events of class "leased": a claim is a lease, committed before anything runs, so that
 * handlers may take their time outside of any transaction. run_at is the lease's end. Its token
 * fences what its holder writes later: whoever lost the lease finds no row and changes nothing. */
#ifndef INBOX_LEASE_H
#define INBOX_LEASE_H

#include "inbox/claim.h"

/* Queues the claim of at most `limit` due events behind `after`, oldest first. Its answer goes to
 * lease_read(). */
int lease_send_claim(struct db *db, struct db_args *args, struct str provider,
                     struct position after, int limit, int64_t lease_ms,
                     struct err *err) MUST_CHECK;

struct lease_claim {
    size_t lapsed; /* rows whose lease had run out: they run alone from now on */
    size_t rows;   /* with the lapsed ones: fewer than the limit means that there are no more */
    struct position last; /* of the last row, where there is one */
};

/* Takes `rows`. */
void lease_read(struct claim *claim, struct db_result *rows, struct lease_claim *result);

/* A row under a lease. */
struct lease {
    int64_t id, token;
    int64_t lease_ms; /* to renew it for */
};

/* In a statement of its own. *renewed: how many; others are lost, or are being settled. */
int lease_renew(struct db *db, struct db_args *args, const struct lease *leases, size_t count,
                size_t *renewed, struct err *err) MUST_CHECK;

/* Queue the fence at the beginning of the transaction that settles: returns a row (column 0: the
 * id) for each event that is still ours. */
int lease_send_take(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
                    struct err *err) MUST_CHECK;
/* Queues a lock of one event's row, for a transaction that a handler gets. */
int lease_send_hold(struct db *db, struct db_args *args, const struct claimed *event,
                    struct err *err) MUST_CHECK;

/* Gives back what did not run, or nothing of which counts, at once. `suspect`: it runs alone from
 * now on. The attempt of an event that ran alone is given back unless it is suspect. */
int lease_release(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
                  bool suspect, struct err *err) MUST_CHECK;

/* The content of as many of the events, from the first on, as hold about `max_bytes`; at least one.
 * Columns of lease_content_read(). */
int lease_load(struct db *db, struct db_args *args, const struct claimed *events, size_t count,
               int64_t max_bytes, bool payloads, struct db_result **rows,
               struct err *err) MUST_CHECK;

struct lease_content {
    bool found; /* false: it is gone */
    struct str event_id;
    struct str type, key; /* ptr NULL: none */
    int64_t received_at;
    struct str headers, body, payload; /* payload ptr NULL: none, or not wanted */
};

/* Borrowed from `rows`. */
void lease_content_read(const struct db_result *rows, int row, struct lease_content *content);

#endif
