/* Group commit. Store threads, each with its own connection, each taking all that waits for it
 * (bounded in rows and bytes) into one transaction; the answer goes back to the loop after the
 * commit. Equal ids go to the same thread, but for those in a group, which goes to one thread
 * whole. What a thread is handed stays valid until its `done` was called, exactly once, on the
 * loop's thread. */
#ifndef INBOX_WRITER_H
#define INBOX_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "db/db.h"
#include "loop/loop.h"

struct writer;

enum store_result {
    STORE_STORED,      /* committed now */
    STORE_DUPLICATE,   /* was there already, committed */
    STORE_UNAVAILABLE, /* not known to be committed: 503, the sender tries again */
};

struct store_item;

/* Events that are stored all or none, in one transaction: those of one request. */
struct store_group {
    struct store_item *items; /* an array, in the order received; each one names this group */
    size_t count;             /* 1 or more */
    bool abandoned;           /* as in struct store_item, for all of them */
};

/* An event on its way. Embedded in the caller's request; the caller fills the upper part. */
struct store_item {
    struct event event;                    /* borrowed until done() */
    struct store_group *group;             /* NULL: stored for itself alone */
    void (*done)(struct store_item *item); /* on the loop's thread */
    void *owner;                           /* the caller's */

    enum store_result result; /* set before done() */
    int64_t id;               /* of the stored event; 0 unless STORE_STORED */
    int64_t run_at;           /* us since 2000, when it may run; for the pool's cursor */
    bool same;      /* a duplicate that is known to have the bytes of the first delivery */
    bool abandoned; /* set by the caller (atomic store) when its sender has been answered: not worth
                       storing any more if it has not begun */
    struct store_item *next; /* the writer's */
    size_t arrival;          /* the writer's: its place among those that it was taken with */
};

struct writer_options {
    const char *conninfo;
    int threads;
    int batch_rows;          /* default 500 */
    int64_t batch_bytes;     /* default 256 KB */
    int64_t queue_max;       /* requests that were put and are not answered, all threads together */
    int64_t queue_max_bytes; /* their bytes; a request that is larger is taken when none waits */
    int64_t ack_timeout_ms;  /* bound of a statement from the client's side */
    struct loop *loop;       /* where done() runs */
    /* Called on the store thread after each commit that stored something for `provider`, once a
     * queue, before the answers leave: wakes workers. run_at INT64_MIN: unknown, after a connection
     * was lost in a commit. */
    void (*stored)(void *argument, struct str provider, enum queue queue, int64_t run_at);
    void *stored_argument;
    /* Called on the store thread, after the answers have left, for each duplicate whose bytes
     * differ from those of the event `first`; `event` is borrowed for the call, and has no more
     * than provider, id, headers, body and source_ip. NULL: nobody wants to know. */
    void (*different)(void *argument, const struct event *event, int64_t first);
    void *different_argument;
};

struct writer *writer_new(const struct writer_options *options);

/* Loop thread. False, and nothing is taken: the queue is full, or no thread has a database
 * connection (503 at once). */
bool writer_put(struct writer *writer, struct store_item *item);
/* The same for all items of a group; done() is called for each. */
bool writer_put_group(struct writer *writer, struct store_group *group);

/* Whether the database takes events now, as far as is known. Any thread. */
bool writer_available(const struct writer *writer);

/* Loop thread, once. Takes nothing more; the threads finish what waits (within about ack_timeout),
 * then end; `ended` is posted to the loop behind the last answer. */
void writer_drain(struct writer *writer, void (*ended)(void *argument), void *argument);
void writer_free(struct writer *writer); /* after `ended`; takes NULL */

#endif
