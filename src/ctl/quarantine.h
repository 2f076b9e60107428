/* Inside ctl/ only: what the actions of `inboxctl quarantine` have in common. */
#ifndef CTL_QUARANTINE_H
#define CTL_QUARANTINE_H

#include "ctl/command.h"
#include "db/db.h"

#define QUARANTINE_NAME "quarantine"

struct quarantine_filter {
    const char *provider, *reason; /* NULL: any */
    int64_t since_ms;              /* -1: since ever */
};

/* A condition on rows of inboxd.quarantine, with the parameters $1 to $3. */
#define QUARANTINE_FILTER                                                                          \
    "($1::text is null or provider = $1)"                                                          \
    " and ($2::text is null or reason = replace($2, '-', ' '))"                                    \
    " and ($3::bigint is null or received_at > now() - $3 * interval '1 millisecond')"

void quarantine_put_filter(struct db_args *args, const struct quarantine_filter *filter);

/* argv[0] is the action's word. */
int ctl_quarantine_release(const struct context *context, int argc, char **argv);
int ctl_quarantine_drop(const struct context *context, int argc, char **argv);

#endif
