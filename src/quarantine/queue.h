/* What waits to be written: bounded in rows and bytes. When it is full, the newest of the noisiest
 * source goes, which may be the one that comes. Not thread-safe: its holder locks. */
#ifndef QUARANTINE_QUEUE_H
#define QUARANTINE_QUEUE_H

#include "quarantine/refused.h"

#define QUEUE_ROWS_MAX 1024

struct refused_queue {
    struct refused *first, *last; /* oldest first */
    int rows;
    int64_t bytes;
    int rows_max; /* at most QUEUE_ROWS_MAX */
    int64_t bytes_max;
};

/* Takes `refused`. Returns what had to go instead, linked by `next`, the caller's; NULL: nothing.
 */
struct refused *queue_put(struct refused_queue *queue, struct refused *refused);

/* Takes out the oldest, at most so many rows and (from the second on) bytes, linked by `next`. */
struct refused *queue_take(struct refused_queue *queue, int rows, int64_t bytes);

/* Puts back, in front, what queue_take() gave; may be more than the bounds, until the next put. */
void queue_return(struct refused_queue *queue, struct refused *list);

#endif
