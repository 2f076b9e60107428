/* What was received: one event as it goes into the inbox. All slices are borrowed; the holder (a
 * request, an arena) says for how long. Immutable once a provider has read it; may then be handed
 * to another thread together with its holder. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define EVENT_SHA256_SIZE 32

/* How an event's work is claimed (DESIGN of the work table: column "class"). */
enum work_class {
    WORK_SQL,    /* the claim is the DELETE, in the handler's transaction */
    WORK_LEASED, /* the claim is a committed lease */
    WORK_PULL,   /* an application claims it */
};

const char *work_class_name(enum work_class class); /* "sql", "leased", "pull" */
enum work_class work_class_of(struct str name);     /* one of these */

/* What workers claim for itself, with a cursor of its own: classes, and lanes of whatever class. */
enum queue { QUEUE_SQL, QUEUE_LEASED, QUEUE_LANE, QUEUE_COUNT };

const char *queue_name(enum queue queue); /* "sql", "leased", "lane" */

struct event {
    struct str provider; /* configured name */
    struct str id;       /* identity within the provider: 1 to 512 bytes of UTF-8 without NUL */
    struct str type;     /* NULL: none */
    struct str key;      /* ordering key; NULL: none */
    struct str body;     /* the exact bytes received */
    struct str
        document; /* JSON text for `payload` where it is not simply `body`; NULL: use the body */
    struct str headers;   /* JSON object text, names lower case */
    struct str source_ip; /* NULL: unknown */
    int64_t received_at;  /* us since 2000, of what was kept before it is stored; 0: now */
    int64_t time;         /* us since 2000, as the sender has it, where has_time */
    unsigned char body_sha256[EVENT_SHA256_SIZE];
    bool payload_repaired; /* `document` differs in content from what was sent */
    bool has_time;
    bool has_payload; /* false: `payload` stays null (raw formats, store = body) */
    bool drops_body;  /* `body` stays null, where `payload` holds what it holds */
    bool signature_verified;
    bool ordered; /* events with the same key run one at a time: a lane */
    enum work_class class;
};

/* Whether its ordering key counts. */
static inline bool event_has_lane(const struct event *event)
{
    return event->ordered && event->key.ptr;
}

/* Where its work waits; QUEUE_COUNT: in none that workers claim. */
enum queue event_queue(const struct event *event);

#endif
