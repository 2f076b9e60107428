/* The request target: which provider it names. Pure, any thread. */
#ifndef INGEST_PATH_H
#define INGEST_PATH_H

#include "base/str.h"

struct path {
    struct str provider; /* ptr NULL: the path is not one of ours */
    struct str query;    /* without '?'; ptr NULL: none */
};

/* `target`: raw, origin form ("/webhooks/x?y=z") or absolute form ("http://host/webhooks/x"). The
 * path is taken as sent, never decoded: what two readers could read as different names is nobody's.
 * One trailing slash is allowed. The results borrow from it. */
struct path path_read(struct str target);

#endif
