/* The items of rows, put into one list and handed over; what is needed of them afterwards is copied
 * before. */
#include "inbox/answers.h"

#include "base/log.h"
#include "base/mem.h"

#define LOG_INTERVAL_US INT64_C(10000000)

void answers_push(struct store_item **list, struct store_item *item, enum store_result result)
{
    item->result = result;
    if (result != STORE_STORED)
        item->id = 0;
    item->next = *list;
    *list = item;
}

static void push_repeats(struct store_item **list, struct batch_row *row, enum store_result result)
{
    struct store_item *next;

    for (struct store_item *item = row->repeats; item; item = next) {
        next = item->next;
        answers_push(list, item, result);
    }
}

static void push_group(struct store_item **list, struct store_group *group,
                       enum store_result result)
{
    for (size_t i = 0; i < group->count; i++)
        answers_push(list, &group->items[i], result);
}

void answers_refuse(const struct committer_options *options, struct batch_row *rows, size_t n)
{
    struct store_item *list = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!rows[i].item)
            continue;
        if (rows[i].group) {
            push_group(&list, rows[i].item->group, STORE_UNAVAILABLE);
        } else {
            answers_push(&list, rows[i].item, STORE_UNAVAILABLE);
            push_repeats(&list, &rows[i], STORE_UNAVAILABLE);
        }
        rows[i].item = NULL;
    }
    if (list)
        options->answer(options->argument, list);
}

static void tell_provider(const struct committer_options *options, struct str provider,
                          const int64_t *run_at)
{
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        if (run_at[queue] != INT64_MAX)
            options->stored(options->argument, provider, (enum queue)queue, run_at[queue]);
}

/* Tells what was stored, once a provider and queue; the rows are sorted by provider. After a lost
 * connection a "duplicate" may be what that session committed; nobody knows from when. */
static void tell_stored(const struct committer_options *options, const struct batch_row *rows,
                        size_t n, bool after_loss)
{
    int64_t run_at[QUEUE_COUNT + 1];

    for (size_t i = 0; i < n; i++) {
        const struct store_item *item = rows[i].item;
        bool first = i == 0 || !str_equal(rows[i - 1].item->event.provider, item->event.provider);
        bool last =
            i + 1 == n || !str_equal(rows[i + 1].item->event.provider, item->event.provider);
        enum queue queue = event_queue(&item->event);
        int64_t since = after_loss ? INT64_MIN : item->run_at;

        for (int q = 0; first && q <= QUEUE_COUNT; q++)
            run_at[q] = INT64_MAX;
        if ((after_loss || item->result == STORE_STORED) && since < run_at[queue])
            run_at[queue] = since;
        if (last)
            tell_provider(options, item->event.provider, run_at);
    }
}

/* What is kept of a duplicate whose bytes may be others than the first delivery's. */
static const struct event *copy_event(struct arena *arena, const struct event *event)
{
    struct event *copy = arena_alloc(arena, sizeof(*copy));

    copy->provider = arena_copy(arena, event->provider);
    copy->id = arena_copy(arena, event->id);
    copy->headers = arena_copy(arena, event->headers);
    copy->body = arena_copy(arena, event->body);
    copy->source_ip = arena_copy(arena, event->source_ip);
    return copy;
}

/* A repeat has the same bytes as what it repeats, or may have others. */
static bool may_differ(const struct batch_row *row, const struct store_item *item)
{
    if (item != row->item &&
        memcmp(item->event.body_sha256, row->item->event.body_sha256, EVENT_SHA256_SIZE) != 0)
        return true;
    return row->item->result == STORE_DUPLICATE && !row->item->same;
}

static void remember(const struct committer_options *options, struct arena *arena,
                     struct duplicate *duplicate, const struct batch_row *row,
                     const struct store_item *item)
{
    const struct event *event = &item->event;

    duplicate->provider = arena_copy(arena, event->provider);
    duplicate->id = arena_copy(arena, event->id);
    duplicate->folded = item != row->item;
    memcpy(duplicate->body_sha256, event->body_sha256, EVENT_SHA256_SIZE);
    if (options->different && may_differ(row, item))
        duplicate->copy = copy_event(arena, event);
}

static size_t count_duplicates(const struct batch_row *rows, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += rows[i].item->result == STORE_DUPLICATE;
        for (const struct store_item *item = rows[i].repeats; item; item = item->next)
            count++;
    }
    return count;
}

static struct duplicate *copy_duplicates(const struct committer_options *options,
                                         const struct batch_row *rows, size_t n, size_t count,
                                         struct arena *arena)
{
    struct duplicate *duplicates = arena_alloc(arena, count * sizeof(*duplicates));
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].item->result == STORE_DUPLICATE)
            remember(options, arena, &duplicates[at++], &rows[i], rows[i].item);
        for (const struct store_item *item = rows[i].repeats; item; item = item->next)
            remember(options, arena, &duplicates[at++], &rows[i], item);
    }
    return duplicates;
}

static void check_duplicates(const struct committer_options *options, struct store *store,
                             struct duplicate *duplicates, size_t n)
{
    static _Thread_local int64_t last_differing, last_dead;
    struct duplicate_finds finds = store_check_duplicates(store, duplicates, n);
    const struct duplicate *one = finds.one_differing;

    if (one && log_may_repeat(&last_differing, LOG_INTERVAL_US))
        log_event(LOG_WARN, "duplicate with other content than the first delivery",
                  F_STR("provider", one->provider), F_STR("event_id", one->id),
                  F_NUM("differing", finds.differing));
    one = finds.one_dead;
    if (one && log_may_repeat(&last_dead, LOG_INTERVAL_US))
        log_event(LOG_WARN, "a dead event was sent again, which runs nothing; replay it by its id",
                  F_STR("provider", one->provider), F_STR("event_id", one->id),
                  F_NUM("id", finds.dead_id), F_NUM("redelivered", finds.dead));
    for (size_t i = 0; i < n; i++)
        if (duplicates[i].copy && duplicates[i].differs_from)
            options->different(options->argument, duplicates[i].copy, duplicates[i].differs_from);
}

void answers_committed(const struct committer_options *options, struct store *store,
                       struct batch_row *rows, size_t n, bool after_loss)
{
    struct store_item *list = NULL;
    struct arena *arena = NULL;
    struct duplicate *duplicates = NULL;
    size_t duplicate_count = count_duplicates(rows, n);

    tell_stored(options, rows, n, after_loss);
    if (duplicate_count > 0) {
        arena = arena_new(16 * 1024);
        duplicates = copy_duplicates(options, rows, n, duplicate_count, arena);
    }
    for (size_t i = n; i-- > 0;) {
        push_repeats(&list, &rows[i], STORE_DUPLICATE);
        answers_push(&list, rows[i].item, rows[i].item->result);
        rows[i].item = NULL;
    }
    options->answer(options->argument, list);
    if (duplicate_count > 0)
        check_duplicates(options, store, duplicates, duplicate_count);
    arena_free(arena);
}
