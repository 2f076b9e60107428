/* Keeps leases alive: one thread with a connection of its own renews at half time what workers
 * hold, for as long as they say. A worker that hangs, or a daemon that is gone, says nothing, and
 * its leases run out. Threads: any. */
#ifndef WORK_LEASES_H
#define WORK_LEASES_H

#include <stdatomic.h>

#include "inbox/lane.h"
#include "inbox/lease.h"

struct leases;

/* Starts the thread; it connects when there is something to renew. Copies `conninfo`. `hung`,
 * borrowed: how many workers have had their time and still hold what they run; each is logged. */
struct leases *leases_new(const char *conninfo, atomic_int *hung);
void leases_free(struct leases *leases); /* joins; nothing is held any more; takes NULL */

/* What one worker holds. Its members are for leases.c. */
struct lease_hold {
    struct lease rows[CLAIM_MAX];
    size_t count;
    const struct lanes *lanes; /* borrowed; NULL: none */
    struct str provider;       /* borrowed */
    int64_t lease_ms;
    int64_t renew_us; /* monotonic: when next */
    int64_t until_us; /* monotonic: not renewed after that */
    bool late;        /* that is past, and was noted */
    struct lease_hold *next;
};

/* Renews the leases of what was just claimed, until leases_drop(), or until `until_us` (monotonic)
 * is past: leases_keep() moves that. */
void leases_hold(struct leases *leases, struct lease_hold *hold, struct str provider,
                 const struct claimed *events, size_t count, int64_t lease_ms, int64_t until_us);
/* Likewise of lanes; only their keys and their token are read. */
void leases_hold_lanes(struct leases *leases, struct lease_hold *hold, struct str provider,
                       const struct lanes *lanes, int64_t lease_ms, int64_t until_us);
void leases_keep(struct leases *leases, struct lease_hold *hold, int64_t until_us);
void leases_drop(struct leases *leases, struct lease_hold *hold);

#endif
