/* From what is kept back to a request: the exact head with today's secrets in place of the
 * credentials that they are. */
#ifndef QUARANTINE_RESTORE_H
#define QUARANTINE_RESTORE_H

#include "base/buf.h"
#include "base/mem.h"
#include "config/config.h"
#include "core/request.h"

struct kept_request {
    struct str head;            /* as in struct refused */
    struct str salt, concealed; /* ptr NULL: nothing is concealed */
    struct str body;
    struct str source_ip;
};

/* `text` gets the head and the arena the list of headers; the request borrows from both and from
 * `kept`. Credentials that are none of today's secrets are left empty; returns how many those are.
 * -1: that is no head. */
int restore_request(const struct kept_request *kept, const struct provider_config *provider,
                    struct buf *text, struct arena *arena, struct request *request);

#endif
