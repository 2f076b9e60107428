/* What an action of `on =` does with an event. A kind is one file with one `const struct
 * handler_kind`, listed in route.c. Kinds whose work is claimed by a lease (class "leased") run
 * outside of the claim's transaction and bring their own functions with them. */
#ifndef WORK_HANDLER_H
#define WORK_HANDLER_H

#include "base/mem.h"
#include "core/event.h"
#include "db/db.h"
#include "inbox/claim.h"

struct handler_kind;

/* One action of a route, compiled. Immutable. */
struct action {
    const struct handler_kind *kind;
    struct str name;  /* behind the kind's colon: "billing.on_invoice"; empty where there is none */
    const char *call; /* the kind's own */
};

struct handler_kind {
    const char *name;      /* "sql", "ignore" */
    bool named;            /* written KIND:NAME */
    enum work_class class; /* how events with this action are claimed */
    /* Makes action->call from action->name; NULL where there is nothing to make. ERR_INPUT says
     * what would be right. */
    int (*compile)(struct action *action, struct arena *arena, struct err *err);
    /* Class WORK_SQL: queues the statements that run it for the event, in the transaction and under
     * the savepoint that the caller has queued. Returns how many, or -1. */
    int (*send)(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err);
};

extern const struct handler_kind handler_sql;    /* sql:schema.fn */
extern const struct handler_kind handler_ignore; /* ignore */

/* The schema and function of an action of kind sql. */
void handler_sql_names(const struct action *action, struct str *schema, struct str *function);

#endif
