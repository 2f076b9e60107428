/* Which actions an event gets: the lines `on PATTERN = ACTIONS` of a provider, compiled. An exact
 * event type comes before the longest pattern that ends in '*', and that before the plain `on`.
 * Immutable. */
#ifndef WORK_ROUTE_H
#define WORK_ROUTE_H

#include "config/config.h"
#include "work/handler.h"

struct route {
    struct str pattern; /* ptr NULL: the plain one */
    struct action *actions;
    size_t count; /* 0: nothing runs */
    enum work_class class;
};

struct routes {
    struct route *routes; /* the most special first, the plain one last */
    size_t count;
};

/* ERR_INPUT when an action cannot be understood; the text says which one and what would be right.
 * What is made lives in `arena`; patterns and names are borrowed from `config`. */
int routes_compile(const struct provider_config *config, struct arena *arena, struct routes *routes,
                   struct err *err) MUST_CHECK;

/* Never NULL after a successful routes_compile(). `event_type` ptr NULL: none, so the plain one. */
const struct route *routes_find(const struct routes *routes, struct str event_type);

#endif
