/* The housekeeper: a thread with its own connection that makes partitions ahead, drops and purges
 * what is older than its retention, folds counters, counts what never reached a table, and says
 * that this daemon lives. Everything goes in small transactions with a short lock_timeout; whatever
 * fails is tried again later. */
#ifndef INBOX_KEEPER_H
#define INBOX_KEEPER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "inbox/confirmations.h"
#include "inbox/policies.h"
#include "inbox/refusal_counts.h"
#include "inbox/retention.h"
#include "inbox/secret_uses.h"

struct keeper;

struct keeper_options {
    const char *conninfo;
    int workers;                    /* shown in the daemon's row */
    const atomic_int *hung;         /* likewise: how many of them do not return; borrowed */
    const struct policy *providers; /* of the configuration */
    size_t provider_count;
    struct retain retain;
};

/* Starts the thread. Copies what it needs. */
struct keeper *keeper_new(const struct keeper_options *options);

/* Any thread: other settings from now on; `conninfo` is not looked at. */
void keeper_configure(struct keeper *keeper, const struct keeper_options *options);

/* Any thread: where refused requests are counted; written every few seconds. The keeper's. */
struct refusal_counts *keeper_refusal_counts(struct keeper *keeper);

/* Any thread: where uses of secrets are counted; written every few seconds. The keeper's. */
struct secret_uses *keeper_secret_uses(struct keeper *keeper);

/* Any thread: where addresses are noted that a person has to open. */
struct confirmations *keeper_confirmations(struct keeper *keeper);

/* Interrupts what runs, writes the last counts, takes the daemon's row away; waits for that for a
 * second or two at most. Takes NULL. */
void keeper_free(struct keeper *keeper);

#endif
