/* What an action of `on =` does with an event. A kind is one file with one `const struct
 * handler_kind`, listed in plan.c; its name and what may be written of it is a row of
 * src/route/kind.c.
 *
 * Class WORK_SQL: `send` queues statements that run in the transaction that claims the event. Class
 * WORK_LEASED: `run` runs the event while a lease keeps others away from it (work/leased.h), as
 * often as it takes: at least once, and exactly once for what it does in handler_begin()'s
 * transaction. */
#ifndef WORK_HANDLER_H
#define WORK_HANDLER_H

#include <stdatomic.h>

#include "base/mem.h"
#include "config/config.h"
#include "core/event.h"
#include "db/db.h"
#include "inbox/claim.h"

struct handler_kind;

/* One action of a route, compiled. Immutable, and shared by the threads. */
struct action {
    const struct handler_kind *kind;
    struct str name;  /* behind the kind's colon: "billing.on_invoice"; empty where there is none */
    const char *call; /* the kind's own: a statement */
    void *data;       /* the kind's own: what `compile` has made */
};

/* ---- class WORK_LEASED ---- */

/* The event as it was stored. */
struct handler_event {
    int64_t id;
    struct str provider, event_id;
    struct str type, key; /* ptr NULL: none */
    int64_t received_at;  /* us since 2000 */
    struct str headers;   /* JSON object, names in lower case */
    struct str body;      /* the bytes that were sent */
    struct str payload;   /* JSON; ptr NULL: the body is none, or the kind does not want it */
    int attempt;          /* from 1 */
};

enum handler_end {
    HANDLER_DONE,
    HANDLER_RETRY,      /* after `backoff`; dead after `attempts` */
    HANDLER_TIMEOUT,    /* a retry that took longer than `timeout`; it runs alone from now on */
    HANDLER_DEFER,      /* too early: costs no attempt */
    HANDLER_DEAD,       /* never: nobody tries again */
    HANDLER_STALE,      /* its entity is past it: done, without its handlers */
    HANDLER_INTERRUPTED /* by the shutdown: it runs again, and costs no attempt */
};

/* How a run ended. Zeroed: done. */
struct handler_result {
    enum handler_end end;
    double delay_s; /* HANDLER_DEFER: until the next run; below 0: the provider's `defer` */
    char *error;    /* one line that is the same for the same fault, since errors are counted by it;
                       any bytes; NULL: none. On the heap, the caller frees it */
    char *more; /* what differs from event to event (output), for the log of attempts only; NULL:
                   nothing. Likewise */
};

/* One run of one action for one event. Everything is borrowed and lasts as long as the call. */
struct handler_run {
    const struct provider_config *provider;
    const struct action *action;
    const struct handler_event *event;
    int64_t deadline_us; /* clock_mono_us() at which `timeout` is over. The lease is kept a
                            little longer; what runs on then may run twice */
    const atomic_bool *interrupted; /* true: the daemon ends and waits no longer. Nothing wakes the
                                       handler: it looks at least every 100 ms while it waits */
    const char *worker;             /* for people */
    bool failed;                    /* handler_begin() failed; the result does not count */

    /* Only between a successful handler_begin() and the return. */
    struct db *db;
    struct db_args *args;

    int (*begin)(struct handler_run *run, struct err *err); /* the caller's */
};

/* Opens the transaction that the event's outcome will be written in, on `run->db`: what is done
 * there is there exactly once when the result is HANDLER_DONE, and is rolled back with any other
 * result. The event's row is locked and the lease is known to be held, so that no other worker gets
 * past it. Called again: nothing happens. -1: the lease is lost or the database is away; the
 * handler returns, and its result does not count. A handler neither commits nor rolls back; one
 * that does has failed. statement_timeout is what is left of `timeout`. */
static inline int handler_begin(struct handler_run *run, struct err *err)
{
    return run->begin(run, err);
}

/* ---- kinds ---- */

struct handler_kind {
    const char *name;      /* "sql", as in src/route/kind.c */
    enum work_class class; /* of events that have such an action */
    bool wants_payload;    /* WORK_LEASED: loads handler_event.payload */
    bool in_process;       /* what it crashes, it crashes: the daemon */
    /* Makes action->call or action->data from action->name, once a plan; NULL where there is
     * nothing to make. Everything lives in `arena`. ERR_INPUT says what would be right: the
     * provider is not worked for, and the log says so. */
    int (*compile)(const struct provider_config *provider, struct action *action,
                   struct arena *arena, struct err *err);
    /* Takes back what compile() has made outside of the arena, when the last batch of the plan is
     * over; NULL: nothing. */
    void (*release)(struct action *action);
    /* WORK_SQL: queues the statements that run it for the event, in the transaction and under the
     * savepoint that the caller has queued. Returns how many, or -1. */
    int (*send)(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err);
    /* WORK_SQL, NULL: always: whether the actions of class WORK_LEASED that come after it may run;
     * looks, on a connection without a transaction, and changes nothing. `result` comes zeroed, and
     * stays so where they may. -1: the statement failed. */
    int (*judge)(struct db *db, struct db_args *args, const struct action *action,
                 const struct handler_event *event, struct handler_result *result, struct err *err);
    /* WORK_LEASED: runs it, outside of a transaction, in a worker's thread; several threads at
     * once, with different events. `result` comes zeroed. */
    void (*run)(struct handler_run *run, struct handler_result *result);
};

extern const struct handler_kind handler_sql;    /* sql:schema.fn */
extern const struct handler_kind handler_ignore; /* ignore */
extern const struct handler_kind
    handler_machine;                           /* of `machine = NAME`; its name is the machine's */
extern const struct handler_kind handler_exec; /* exec:/path */
extern const struct handler_kind handler_module; /* module:NAME */

/* The schema and function of an action of kind sql. */
void handler_sql_names(const struct action *action, struct str *schema, struct str *function);

#endif
