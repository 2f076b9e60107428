/* A copy of a request that was refused, as it goes into the quarantine: it owns its bytes, and has
 * no credential in them, only salted hashes (what that is, conceal.h says). Made by one thread,
 * handed over whole. */
#ifndef QUARANTINE_REFUSED_H
#define QUARANTINE_REFUSED_H

#include <stdint.h>

#include "base/mem.h"
#include "config/config.h"
#include "core/event.h"
#include "core/request.h"

#define REFUSED_SALT_SIZE 16
#define REFUSED_HASH_SIZE 32

/* The reason of a duplicate whose bytes differ from the first delivery. */
#define REFUSED_DIFFERENT "different duplicate"

struct refused {
    struct arena *arena;         /* holds it and all that it points to */
    struct refused *prev, *next; /* the queue's */

    struct str provider, reason;
    struct str source_ip; /* ptr NULL: unknown */
    struct str method;    /* ptr NULL: not known */
    struct str target;    /* made safe for people; ptr NULL: not known */
    struct str headers;   /* JSON object, as stored events have it */
    struct str head;      /* exact: "METHOD TARGET\n", then "NAME: VALUE\n" each; a NUL stands for a
                             credential; ptr NULL: not known */
    struct str hashes;    /* of the credentials, REFUSED_HASH_SIZE bytes each */
    struct str body;
    int64_t first; /* 0, or the event that it is a different duplicate of */
    unsigned char salt[REFUSED_SALT_SIZE];

    struct quarantine_bounds bounds; /* of its provider */
    int64_t at_us;                   /* when it came; monotonic */
    int64_t bytes;                   /* what it counts for */
    uint64_t source;                 /* refused_source() */
};

struct refused *refused_new(const struct provider_config *provider, const struct request *request,
                            const char *reason);

/* Of an event that was verified and read: a duplicate with other bytes than the event `first`. Read
 * are provider, id, headers, body and source_ip. */
struct refused *refused_new_different(const struct provider_config *provider,
                                      const struct event *event, int64_t first);

void refused_free(struct refused *refused); /* takes NULL */

/* A source as a number: an IPv4 address, the network of an IPv6 address, or "unknown". */
uint64_t refused_source(struct str source_ip);

#endif
