/* What the workers know of one queue of a provider: where the next claim begins (the claim cursor),
 * whether there is something to claim, how large the next batch is. Not thread-safe: the pool's
 * lock guards it.
 *
 * The cursor moves forward with every claim, so that no claim walks over the index entries of
 * finished rows. It is moved back (lowered) to whatever becomes claimable behind it: a commit of
 * this daemon, a batch that was rolled back, a row that a look-up found. What is lowered while a
 * claim is under way, which may not have seen it, stays lowered when that claim returns. */
#ifndef WORK_FEED_H
#define WORK_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inbox/claim.h"

#define FEED_BATCH_FIRST 4 /* before anything is known about the handler */

/* A claim under way. */
struct feed_claim {
    struct position after; /* where it begins */
    int limit;             /* events that run in one transaction */
    int fitting;           /* events that can be worked off in about 100 ms; `limit` or more */
    struct position floor; /* the lowest that was lowered since */
    uint64_t news;
    struct feed_claim *next;
};

struct feed {
    struct position cursor;
    bool ready;         /* something may be claimable behind the cursor */
    bool alone_due;     /* an event that runs alone may be due */
    bool alone_last;    /* the last claim was for one: the other kind is next */
    uint64_t news;      /* how often ready was set */
    int limit, fitting; /* of the next claim */
    int careful;        /* so many more events run one by one */
    int64_t shut_until; /* monotonic us: nothing is claimed before, unless shut is 0 */
    int shut;           /* workers that have suspects to mark first */
    struct feed_claim *claims;
};

void feed_init(struct feed *feed);

/* Whether a batch, or an event that runs alone, may be claimed now. */
bool feed_wants(const struct feed *feed, int64_t now_us);

/* Something behind `position`, exclusive, may be claimable. */
void feed_lower(struct feed *feed, struct position position);
/* Something at `position` will be claimable when its time has come. */
void feed_expect(struct feed *feed, struct position position);

void feed_claim_begin(struct feed *feed, struct feed_claim *claim);
/* `count` events were claimed, the last one at `last`. */
void feed_claim_end(struct feed *feed, struct feed_claim *claim, size_t count,
                    struct position last);
/* The claim did not come about; whatever there was is still there. */
void feed_claim_failed(struct feed *feed, struct feed_claim *claim);

/* A batch of `count` events took `took_us`: makes the next one take about 100 ms. */
void feed_took(struct feed *feed, size_t count, int64_t took_us);
/* `count` events got into each other's way: they and the next ones run one by one. */
void feed_careful(struct feed *feed, size_t count);

#endif
