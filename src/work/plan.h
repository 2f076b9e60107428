/* What the workers need of a configuration, compiled: a plan. Immutable and counted, so that a
 * batch finishes under the plan with which it began. */
#ifndef WORK_PLAN_H
#define WORK_PLAN_H

#include "db/db.h"
#include "route/route.h"
#include "work/handler.h"

/* A route with its actions compiled, behind the check of the provider's machine, if it has one. */
struct plan_route {
    const struct route *route;
    struct action *actions;
    size_t count;
};

struct plan_provider {
    const struct provider_config *config;
    struct routes routes;
    struct plan_route *compiled; /* one a route, in their order */
    bool in_process;             /* one of their actions may end the daemon */
    bool lanes_are_pulled;       /* events with an order are an application's */
};

struct plan {
    const struct config *config;
    struct plan_provider *providers; /* sorted by name; those whose routes cannot be used are left
                                        out and logged */
    size_t count;
};

/* What an event of the type gets; ptr NULL: of none. Never NULL. */
const struct plan_route *plan_find(const struct plan_provider *provider, struct str event_type);

/* Takes a reference to the configuration. */
struct plan *plan_new(const struct config *config);
struct plan *plan_ref(struct plan *plan);
void plan_unref(struct plan *plan); /* takes NULL */

/* What waits under an older configuration, as this one has it: rows that wait for an application,
 * of providers that leave nothing to one any more, are given to workers; keys that wait for a
 * failed event, of providers that are not strict any more, go on. */
int plan_take_over(const struct plan *plan, struct db *db, struct db_args *args,
                   struct err *err) MUST_CHECK;

/* Logs a warning for each handler that does not exist yet or may not be called, and for each
 * machine without transitions. */
int plan_check_handlers(const struct plan *plan, struct db *db, struct db_args *args,
                        struct err *err) MUST_CHECK;

#endif
