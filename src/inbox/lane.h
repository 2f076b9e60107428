/* Claiming lanes: the events of one ordering key, which run one at a time and in the order
 * received. A lane is claimed by a lease that is committed; the transaction that runs its events
 * ends with lane_send_settle(), which raises LANE_LOST where the lease is not its own any more, so
 * that nothing of it commits. Everything here is for one thread; texts are borrowed from the claim.
 */
#ifndef INBOX_LANE_H
#define INBOX_LANE_H

#include "inbox/settle.h"

#define LANE_LOST "IBX04" /* SQLSTATE */

struct lane {
    struct str key;
    size_t begin, end; /* its events in the claim; none: there is nothing to run */
    int64_t dead_id;   /* its event whose attempts were used up, and which is dead now; 0: none */
    int dead_attempt;

    /* For the transaction that is under way. */
    bool touched;    /* some of its events ran, or it ends */
    bool ends;       /* it is released at the end */
    bool done;       /* one of its events is done: those that were deferred are woken */
    int64_t reached; /* id of the last event that is out of the others' way, with all before it */

    /* As committed. */
    int64_t settled; /* likewise; 0: none */
    bool released;
};

struct lanes {
    struct claim claim; /* the events, lane by lane, in the order received */
    struct lane *list;  /* the suspect's first, then by key */
    size_t count;
    int64_t token;
    size_t found;  /* lanes that were leased, with the lapsed ones */
    size_t lapsed; /* whose lease had run out unsettled: they are free again, and what may have
                      been running runs alone from now on */
    struct position last; /* of the last lane: (ready_at, number); where one was found */
    int64_t now;          /* by the database's clock */
};

/* What a claim asks for. */
struct lane_terms {
    struct str provider, worker;
    struct position after; /* (ready_at, number) */
    int limit;             /* lanes, and events that run in one transaction */
    int events;            /* in all, at most; `limit` or more */
    int suspects;          /* events at most whose attempt counts from the claim on */
    double lease_s;
    int attempts;       /* allowed */
    double due_again_s; /* of an event that runs alone and is never settled */
    bool serial;        /* failed events step aside */
};

/* Queue the two statements of a claim, for a transaction of their own. */
int lane_send_claim(struct db *db, struct db_args *args, const struct lane_terms *terms,
                    struct err *err) MUST_CHECK;
int lane_send_take(struct db *db, struct db_args *args, const struct lane_terms *terms,
                   struct err *err) MUST_CHECK;
/* Their answers. Takes `taken`. */
void lanes_read(struct lanes *lanes, const struct db_result *found, struct db_result *taken);
void lanes_release(struct lanes *lanes); /* may be zeroed */

/* Queues the fence of the transaction and the removal of what ran, before the outcomes are written:
 * the lanes that are `touched`, and of `events` those whose verdict does not leave the row alone.
 */
int lane_send_settle(struct db *db, struct db_args *args, struct str provider,
                     const struct lanes *lanes, const struct claimed *events,
                     const struct verdict *verdicts, size_t count, struct err *err) MUST_CHECK;

/* Queues the release of the lanes that end, after the outcomes. */
int lane_send_next(struct db *db, struct db_args *args, struct str provider,
                   const struct lanes *lanes, struct err *err) MUST_CHECK;
struct lane_next {
    int64_t ready_at; /* the earliest; INT64_MAX: the lanes are gone */
    bool due;         /* that is now */
};
struct lane_next lane_next_read(const struct db_result *rows);

/* ---- what was claimed and did not commit ---- */

/* Lanes to be given back, or renewed; owns copies. Zeroed: none. */
struct lane_return {
    char **keys;
    int64_t *settled;
    size_t count;
    char *provider;
    int64_t token;
    int64_t now; /* of the claim */
};

/* All of them. Reads only what does not change after the claim. */
struct lane_return lane_return_copy(struct str provider, const struct lanes *lanes);
/* In a statement of its own: whoever runs them lives, the leases last so long from now on. */
int lane_return_renew(struct db *db, struct db_args *args, const struct lane_return *list,
                      double lease_s, struct err *err) MUST_CHECK;

/* Those of `lanes` that are not released yet. */
void lane_return_note(struct lane_return *list, struct str provider, const struct lanes *lanes);
void lane_return_release(struct lane_return *list);
/* In a statement of its own: the lanes are free at once, and the events run alone from now on. */
int lane_return_run(struct db *db, struct db_args *args, const struct lane_return *list,
                    const int64_t *suspects, size_t suspect_count, struct err *err) MUST_CHECK;

#endif
