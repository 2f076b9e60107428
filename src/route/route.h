/* Which actions an event gets: the lines `on PATTERN = ACTIONS` of a provider, compiled. An exact
 * event type comes before the longest pattern that ends in '*', and that before the plain `on`.
 * Immutable. */
#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "base/mem.h"
#include "config/config.h"
#include "config/mistakes.h"
#include "route/kind.h"

struct route_action {
    enum route_kind kind;
    struct str name; /* behind the kind's colon: "billing.on_invoice"; empty where there is none */
};

struct route {
    const struct route_config *config;
    struct str pattern; /* ptr NULL: the plain one */
    struct route_action *actions;
    size_t count; /* at least 1 */
    /* How events with this route are claimed: leased where one of its actions is. */
    enum work_class class;
    bool coalesce; /* of the waiting events of a key and type only the newest runs */
};

struct routes {
    struct route *routes; /* the most special first, the plain one last */
    size_t count;
};

/* False, with mistakes (file and line), when an action cannot be understood or actions do not go
 * together. What is made lives in `arena`; patterns and names are borrowed from `config`. */
bool routes_compile(const struct provider_config *config, struct arena *arena,
                    struct routes *routes, struct mistakes *mistakes) MUST_CHECK;

/* Never NULL after a successful routes_compile(). `event_type` ptr NULL: none, so the plain one. */
const struct route *routes_find(const struct routes *routes, struct str event_type);

/* Whether nothing runs: `ignore`. */
bool route_ignores(const struct route *route);

/* Whether the provider's lanes are claimed by an application. */
bool routes_pull_lanes(const struct routes *routes, const struct provider_config *config);

/* Whether any of them is of the class. */
bool routes_have(const struct routes *routes, enum work_class class);

#endif
