/* Whom a request comes from, when proxies stand in between. Only what a trusted proxy has written
 * counts: the list is walked from right to left, from the peer that we see ourselves, and the first
 * address that is no trusted proxy is the sender's. What stands further left is hearsay. Pure
 * functions, any thread. */
#ifndef CORE_FORWARDED_H
#define CORE_FORWARDED_H

#include "core/address.h"
#include "core/request.h"

struct forwarding {
    const struct network *trusted;
    size_t trusted_count;
    bool trusts_unix; /* a peer on a Unix socket is a trusted proxy */
};

enum forwarded {
    FORWARDED_KNOWN,      /* *sender is set */
    FORWARDED_UNKNOWN,    /* the peer has no address, and nobody whom we trust says more */
    FORWARDED_UNREADABLE, /* a trusted proxy says something that is no address ("unknown",
                             "_hidden", nothing), or its two headers disagree */
};

/* `peer`: the other end of the connection; NULL: a Unix socket. Reads X-Forwarded-For and Forwarded
 * (RFC 7239, the parameter "for"); all lines of a header are one list, in their order. A proxy that
 * sets one of them passes the sender's own other one on, so where both are there they have to say
 * the same. */
enum forwarded forwarded_sender(const struct forwarding *forwarding, const struct address *peer,
                                const struct request *request, struct address *sender);

#endif
