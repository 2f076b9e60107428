/* A batch: what a store thread took from its queue, sorted by (provider, event_id) in bytes, so
 * that no two transactions ever wait for each other's rows in a circle, and with the copies of one
 * id folded into one row. Pure; one thread at a time. The items stay their owners'. */
#ifndef INBOX_BATCH_H
#define INBOX_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "inbox/writer.h"

/* How much of an event that PostgreSQL did not take is left out. */
enum batch_without {
    WITHOUT_NOTHING,
    WITHOUT_PAYLOAD, /* `payload` stays null */
    WITHOUT_HEADERS, /* and `headers` is empty, `source_ip` null */
};

struct batch_row {
    struct store_item *item;    /* the first copy: stored; NULL: answered already */
    struct store_item *repeats; /* later copies of the same id, linked by `next` */
    enum batch_without without;
    bool group; /* it stands for the whole group of its item */
};

struct batch {
    struct batch_row *rows;
    size_t count, size;
    size_t length; /* of the list that it was made from */
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);

/* Replaces the content by the items of `list`, linked by `next`. */
void batch_fill(struct batch *batch, struct store_item *list);

/* The items again as a list in the order in which they came; the batch is empty then. */
struct store_item *batch_take(struct batch *batch);

/* Drops the rows that were answered (item NULL); the order stays. */
void batch_compact(struct batch *batch);

/* Puts a later copy of the same id to `row`. */
void batch_add_repeat(struct batch_row *row, struct store_item *item);

/* Whether it is stored with others or not at all. */
static inline bool batch_is_grouped(const struct store_item *item)
{
    return item->group && item->group->count > 1;
}

/* Order of identities. */
int batch_compare(const struct event *a, const struct event *b);

#endif
