/* Writing down how attempts ended, in the transaction that claimed their events. */
#ifndef INBOX_SETTLE_H
#define INBOX_SETTLE_H

#include "core/outcome.h"
#include "inbox/claim.h"

struct verdict {
    enum outcome what;
    double delay_s; /* until the next attempt, where there is one */
    char *error;    /* NULL: none; owned: verdict_release() */
    char *more;     /* what else the server said, for the log of attempts; NULL: nothing; owned */
    bool stays;     /* its row in `work` is there, and stays as it is: nothing is written */
    enum aside aside;
    bool suspect;  /* runs alone from now on */
    bool counts;   /* the attempt is burnt */
    double took_s; /* below 0: unknown */
    bool missing;  /* there is no such handler, or no right to call it */
    char sqlstate[6];
};

void verdict_release(struct verdict *verdict);

/* Queue the statements for those of `count` events that are done, and for those that are not; 1
 * when one was queued, 0 when there was nothing to say, -1. */
int settle_send_done(struct db *db, struct db_args *args, struct str provider,
                     const struct claimed *events, const struct verdict *verdicts, size_t count,
                     struct err *err) MUST_CHECK;
int settle_send_failed(struct db *db, struct db_args *args, struct str provider, struct str worker,
                       const struct claimed *events, const struct verdict *verdicts, size_t count,
                       struct err *err) MUST_CHECK;
/* The earliest new run_at that the second statement's answer holds; INT64_MAX: none. */
int64_t settle_next_run_at(const struct db_result *rows);

#endif
