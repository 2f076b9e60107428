/* Claiming events of class "sql": the claim is the DELETE of their rows in `work`, inside the
 * transaction that runs their handlers. If it does not commit, the rows are back. */
#ifndef INBOX_CLAIM_H
#define INBOX_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "db/db.h"

/* A place in the order in which the events of a provider are claimed. */
struct position {
    int64_t run_at; /* us since 2000 */
    int64_t id;
};

#define POSITION_START ((struct position){INT64_MIN, 0})

static inline int position_compare(struct position a, struct position b)
{
    if (a.run_at != b.run_at)
        return a.run_at < b.run_at ? -1 : 1;
    return (a.id > b.id) - (a.id < b.id);
}

/* More than 64 savepoints in a transaction overflow the server's cache of subtransactions. */
#define CLAIM_MAX 50

#define CLAIM_NEVER INT64_MIN /* deferred_since of an event that was not deferred */

/* Whether an event of a lane has stepped aside: the others of its key go past it. */
enum aside {
    ASIDE_NO,
    ASIDE_RETRY, /* it failed, or was replayed */
    ASIDE_DEFER, /* it waits for others of its key */
};

const char *aside_name(enum aside aside); /* NULL, "retry", "defer" */
enum aside aside_of(struct str name);

struct claimed {
    int64_t id;
    int64_t token;    /* of a committed claim; 0: claimed in this transaction only */
    int attempt;      /* number of this attempt, the first is 1 */
    int attempt_base; /* attempts before the last replay */
    bool counted;     /* the attempt was committed before the start (it runs alone) */
    int64_t run_at;   /* when it was due; 0 where it runs alone */
    int64_t received_at, deferred_since;
    double deferred_for_s; /* since deferred_since, by the database's clock; 0 where not deferred */
    enum work_class class; /* of its row, if it is put back */
    struct str lane;       /* ordering key; ptr NULL: no order; borrowed from `rows` */
    enum aside aside;
    struct str event_type; /* ptr NULL: none; borrowed from `rows` */
};

struct claim {
    struct claimed *events;
    size_t count;
    struct db_result *rows;
};

/* Queues the claim of at most `limit` due events behind `after`, oldest first. Its answer goes to
 * claim_read(). */
int claim_send(struct db *db, struct db_args *args, struct str provider, struct position after,
               int limit, struct err *err) MUST_CHECK;
/* Takes `rows`. */
void claim_read(struct claim *claim, struct db_result *rows);
void claim_release(struct claim *claim); /* may be zeroed */
/* deferred_since and what comes of it, from those columns of a row. */
void claim_read_deferral(struct claimed *event, const struct db_result *rows, int row,
                         int since_column, int now_column);

/* One event that must run alone: commits its attempt. Sets claim->count to 0 when nothing is due;
 * *dead when its attempts were used up and it is dead now (claim->events[0] says which one). */
int claim_alone(struct db *db, struct db_args *args, struct str provider, enum work_class class,
                int attempts, int64_t backoff_ms, struct str worker, struct claim *claim,
                bool *dead, struct err *err) MUST_CHECK;
/* Queues the first statement of its transaction: no row when another worker has taken it over. */
int claim_alone_take(struct db *db, struct db_args *args, const struct claimed *event,
                     struct err *err) MUST_CHECK;
/* Gives the attempt back, after a shutdown. */
int claim_alone_return(struct db *db, struct db_args *args, const struct claimed *event,
                       struct err *err) MUST_CHECK;

/* The events of a batch that did not commit, for reasons unknown, run alone from now on. */
int claim_mark_suspect(struct db *db, struct db_args *args, const int64_t *ids, size_t count,
                       struct err *err) MUST_CHECK;

/* What can be claimed, of several queues at once. */
struct look_at {
    struct str provider;
    enum queue queue;
    struct position after;
};
struct due {
    bool due;         /* an event behind the position can be claimed */
    bool suspect_due; /* one that runs alone can */
    int64_t due_at;   /* run_at of the first event behind the position; INT64_MAX: there is none */
};
int claim_look(struct db *db, struct db_args *args, const struct look_at *at, size_t count,
               struct due *due, struct err *err) MUST_CHECK;

#endif
