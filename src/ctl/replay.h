/* Replay by predicate, for ctl_replay.c. */
#ifndef CTL_REPLAY_H
#define CTL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/command.h"
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

#endif
