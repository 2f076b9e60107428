/* The setting `reply`: the answer to a stored or duplicate event, for senders that want a certain
 * one.
 *
 *     STATUS [CONTENT-TYPE] [BODY]     204; 200 [accepted]; 200 text/xml <Response/>
 *
 * The status is a 2xx: what was stored must not be sent again. Immutable, any thread. */
#ifndef PROVIDER_REPLY_H
#define PROVIDER_REPLY_H

#include "base/err.h"
#include "base/str.h"

struct reply {
    unsigned status;         /* 0: none is set */
    struct str content_type; /* ptr NULL: the usual one; a provider's is NUL-terminated */
    struct str body;         /* exactly so, without a newline */
};

/* Borrows `text`. ERR_INPUT with what would be right. */
int reply_parse(struct str text, struct reply *reply, struct err *err) MUST_CHECK;

#endif
