/* Who is the noisiest is only asked when the queue is full, over all that is in it: a thousand rows
 * at most. */
#include "quarantine/queue.h"

#include <stdbool.h>

#define ORIGINS (2 * QUEUE_ROWS_MAX) /* a power of two */

struct origin {
    uint64_t source;
    int64_t weight; /* rows or bytes; 0: free */
    struct refused *newest;
};

static void append(struct refused_queue *queue, struct refused *refused)
{
    refused->next = NULL;
    refused->prev = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = refused;
    queue->last = refused;
    queue->rows++;
    queue->bytes += refused->bytes;
}

static void take_out(struct refused_queue *queue, struct refused *refused)
{
    *(refused->prev ? &refused->prev->next : &queue->first) = refused->next;
    *(refused->next ? &refused->next->prev : &queue->last) = refused->prev;
    queue->rows--;
    queue->bytes -= refused->bytes;
}

/* The newest of the source that has the most rows, or the most bytes; of several, the newest. */
static struct refused *noisiest(const struct refused_queue *queue, bool by_bytes)
{
    struct origin origins[ORIGINS] = {{0}};
    const struct origin *most = NULL;

    for (struct refused *refused = queue->first; refused; refused = refused->next) {
        uint64_t at = refused->source * 0x9e3779b97f4a7c15u >> 40;
        struct origin *origin = &origins[at % ORIGINS];

        while (origin->weight > 0 && origin->source != refused->source)
            origin = &origins[++at % ORIGINS];
        origin->source = refused->source;
        origin->weight += by_bytes ? refused->bytes : 1;
        origin->newest = refused;
        if (!most || origin->weight >= most->weight)
            most = origin;
    }
    return most ? most->newest : NULL;
}

struct refused *queue_put(struct refused_queue *queue, struct refused *refused)
{
    struct refused *gone = NULL;

    append(queue, refused);
    while (queue->rows > queue->rows_max || queue->bytes > queue->bytes_max) {
        struct refused *drop = noisiest(queue, queue->rows <= queue->rows_max);

        if (!drop)
            break;
        take_out(queue, drop);
        drop->next = gone;
        gone = drop;
    }
    return gone;
}

struct refused *queue_take(struct refused_queue *queue, int rows, int64_t bytes)
{
    struct refused *list = NULL, **end = &list;

    while (queue->first && (!list || (rows > 0 && queue->first->bytes <= bytes))) {
        struct refused *refused = queue->first;

        take_out(queue, refused);
        rows--;
        bytes -= refused->bytes;
        refused->next = NULL;
        *end = refused;
        end = &refused->next;
    }
    return list;
}

void queue_return(struct refused_queue *queue, struct refused *list)
{
    struct refused_queue rest = *queue;
    struct refused *next;

    queue->first = queue->last = NULL;
    queue->rows = 0;
    queue->bytes = 0;
    for (struct refused *refused = list; refused; refused = next) {
        next = refused->next;
        append(queue, refused);
    }
    for (struct refused *refused = rest.first; refused; refused = next) {
        next = refused->next;
        append(queue, refused);
    }
}
