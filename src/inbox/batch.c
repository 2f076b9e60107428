/* Sorting and folding. The first copy of an id to arrive is the one that is stored; whether a
 * later copy has the same bytes is looked at after the commit, as for every duplicate. */
#include "inbox/batch.h"

#include <stdlib.h>

#include "base/mem.h"

void batch_init(struct batch *batch)
{
    *batch = (struct batch){0};
}

void batch_release(struct batch *batch)
{
    free(batch->rows);
}

int batch_compare(const struct event *a, const struct event *b)
{
    int order = a->provider.ptr == b->provider.ptr && a->provider.len == b->provider.len
                    ? 0
                    : str_compare(a->provider, b->provider);

    return order ? order : str_compare(a->id, b->id);
}

static int compare_rows(const void *left, const void *right)
{
    const struct batch_row *a = left, *b = right;
    int order = batch_compare(&a->item->event, &b->item->event);

    if (order)
        return order;
    return (a->item->arrival > b->item->arrival) - (a->item->arrival < b->item->arrival);
}

void batch_add_repeat(struct batch_row *row, struct store_item *item)
{
    item->next = row->repeats;
    row->repeats = item;
}

/* Copies of one id lie side by side after the sort, the first to arrive first. */
static void fold(struct batch *batch)
{
    size_t kept = 1;

    for (size_t i = 1; i < batch->count; i++) {
        struct batch_row *last = &batch->rows[kept - 1];

        if (batch_compare(&last->item->event, &batch->rows[i].item->event) == 0)
            batch_add_repeat(last, batch->rows[i].item);
        else
            batch->rows[kept++] = batch->rows[i];
    }
    batch->count = kept;
}

void batch_fill(struct batch *batch, struct store_item *list)
{
    struct store_item *next;

    batch->count = 0;
    for (struct store_item *item = list; item; item = next) {
        next = item->next;
        item->next = NULL;
        if (batch->count == batch->size) {
            batch->size = batch->size ? 2 * batch->size : 64;
            batch->rows = mem_resize(batch->rows, batch->size * sizeof(*batch->rows));
        }
        item->arrival = batch->count;
        batch->rows[batch->count++] = (struct batch_row){.item = item};
    }
    batch->length = batch->count;
    if (batch->count > 1) {
        qsort(batch->rows, batch->count, sizeof(*batch->rows), compare_rows);
        fold(batch);
    }
}

static void put_back(struct store_item **places, struct store_item *list)
{
    for (struct store_item *item = list, *next; item; item = next) {
        next = item->next;
        places[item->arrival] = item;
    }
}

struct store_item *batch_take(struct batch *batch)
{
    struct store_item **places = mem_alloc((batch->length + 1) * sizeof(struct store_item *));
    struct store_item *list = NULL;

    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->rows[i].item)
            continue;
        places[batch->rows[i].item->arrival] = batch->rows[i].item;
        put_back(places, batch->rows[i].repeats);
    }
    for (size_t i = batch->length; i-- > 0;) {
        if (!places[i])
            continue;
        places[i]->next = list;
        list = places[i];
    }
    free(places);
    batch->count = 0;
    return list;
}

void batch_compact(struct batch *batch)
{
    size_t kept = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].item)
            batch->rows[kept++] = batch->rows[i];
    batch->count = kept;
}
