/* Replay by id and by predicate, for ctl_replay.c. Either is one command: one row in audit, made
 * before the first step and counted up with each, and short transactions. */
#ifndef CTL_REPLAY_H
#define CTL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/command.h"
#include "ctl/progress.h"
#include "db/db.h"

/* What to run again; a NULL text asks for nothing. Times are so long ago (90m), or timestamps. */
struct replay_where {
    const char *provider, *type, *status; /* status: dead (also NULL), done or finished */
    const char *received_since, *received_until, *since, *until;
    const char *error, *error_regex;
    const char *why;
    int64_t limit; /* -1: all */
    int64_t rate;  /* events a second; 0: as fast as it goes */
    bool dry_run;
};

/* Finds what fits, then runs it again in short transactions; says what came of it, also when it
 * was interrupted. Returns an exit code. */
int replay_where(struct db *db, const struct replay_where *where, const struct context *context);
/* One after the other, and says of each what came of it; of what is wanted, `why`, `rate` and
 * `dry_run` count. */
int replay_ids(struct db *db, const int64_t *ids, size_t count, const struct replay_where *where,
               const struct context *context);

/* For the two: an array as the next argument. */
void replay_put_ids(struct db_args *args, const int64_t *ids, size_t count);
/* Says how many, and shows the first. */
int replay_dry_run(struct db *db, const int64_t *ids, size_t count, FILE *out, struct err *err);
/* Waits until `done` events are not more than the rate allows; Ctrl-C ends it. */
void replay_keep_rate(const struct progress *progress, int64_t rate, size_t done);

#endif
