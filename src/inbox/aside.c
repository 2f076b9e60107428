/* A short unsorted array: rows wait aside only while somebody holds a transaction open over ids
 * that are being delivered. */
#include "inbox/aside.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROWS_MAX 256
#define FIRST_PAUSE_US (20 * 1000)
#define LONGEST_PAUSE_US (200 * 1000)

struct waiting {
    struct batch_row row;
    int64_t since_us, due_us;
};

struct aside {
    struct waiting rows[ROWS_MAX];
    size_t count;
};

struct aside *aside_new(void)
{
    return mem_alloc(sizeof(struct aside));
}

void aside_free(struct aside *aside)
{
    assert(!aside || aside->count == 0);
    free(aside);
}

size_t aside_count(const struct aside *aside)
{
    return aside->count;
}

/* A pause as long as the row has waited so far, within bounds. */
void aside_put_back(struct aside *aside, const struct batch_row *row, int64_t since_us,
                    int64_t now_us)
{
    int64_t pause = now_us - since_us;

    if (pause < FIRST_PAUSE_US)
        pause = FIRST_PAUSE_US;
    if (pause > LONGEST_PAUSE_US)
        pause = LONGEST_PAUSE_US;
    assert(aside->count < ROWS_MAX);
    aside->rows[aside->count++] = (struct waiting){*row, since_us, now_us + pause};
}

bool aside_put(struct aside *aside, const struct batch_row *row, int64_t now_us)
{
    if (aside->count == ROWS_MAX)
        return false;
    aside_put_back(aside, row, now_us, now_us);
    return true;
}

bool aside_join(struct aside *aside, struct batch_row *row)
{
    struct store_item *next;

    for (size_t i = 0; i < aside->count; i++) {
        struct batch_row *there = &aside->rows[i].row;

        if (there->group || batch_compare(&there->item->event, &row->item->event) != 0)
            continue;
        for (struct store_item *item = row->repeats; item; item = next) {
            next = item->next;
            batch_add_repeat(there, item);
        }
        batch_add_repeat(there, row->item);
        return true;
    }
    return false;
}

/* The row that is due first; count when there is none. */
static size_t first_due(const struct aside *aside)
{
    size_t first = 0;

    for (size_t i = 1; i < aside->count; i++)
        if (aside->rows[i].due_us < aside->rows[first].due_us)
            first = i;
    return first;
}

int64_t aside_next_us(const struct aside *aside)
{
    return aside->count ? aside->rows[first_due(aside)].due_us : INT64_MAX;
}

static void take_out(struct aside *aside, size_t i, struct batch_row *row, int64_t *since_us)
{
    *row = aside->rows[i].row;
    if (since_us)
        *since_us = aside->rows[i].since_us;
    aside->rows[i] = aside->rows[--aside->count];
}

bool aside_take_due(struct aside *aside, int64_t now_us, struct batch_row *row, int64_t *since_us)
{
    size_t i = first_due(aside);

    if (aside->count == 0 || aside->rows[i].due_us > now_us)
        return false;
    take_out(aside, i, row, since_us);
    return true;
}

bool aside_take(struct aside *aside, struct batch_row *row)
{
    if (aside->count == 0)
        return false;
    take_out(aside, aside->count - 1, row, NULL);
    return true;
}
