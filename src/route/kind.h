/* The kinds of actions that `on PATTERN = ACTIONS` may name, each declared once: a row of the table
 * in kind.c. What runs a kind is a file in src/work; here is only what its text may be and what it
 * makes of an event's class. */
#ifndef ROUTE_KIND_H
#define ROUTE_KIND_H

#include <stdbool.h>

#include "base/err.h"
#include "core/event.h"

enum route_kind { ROUTE_SQL, ROUTE_MODULE, ROUTE_EXEC, ROUTE_PULL, ROUTE_IGNORE, ROUTE_KINDS };

struct route_kind_row {
    const char *name;      /* "sql" */
    bool named;            /* written KIND:NAME */
    bool alone;            /* the only action of its line */
    enum work_class class; /* of the events that have it */
    const char *written;   /* as one writes it, for people */
    bool (*is_name)(struct str name);
    const char *right; /* what a name has to be, for people */
};

const struct route_kind_row *route_kind_row(enum route_kind kind);

/* One action as it is written, "sql:SCHEMA.FUNCTION". ERR_INPUT: what would be right. `name` is
 * what stands behind the colon, borrowed from `text`; empty where there is none. */
int route_kind_parse(struct str text, enum route_kind *kind, struct str *name,
                     struct err *err) MUST_CHECK;

#endif
