/* The store threads and their queues. An item is in one queue, or its thread's, or in a list that
 * was posted to the loop: never in two. What is counted as waiting is what was put and not yet
 * answered, so that memory is bounded in an outage too. */
#include "inbox/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "inbox/committer.h"

#define BATCH_ROWS 500
/* What a socket takes at once, more or less: beyond it libpq moves the rest of its buffer at every
 * partial send, which at 4 MB costs more than all else (50 us for an event of 16 KB). */
#define BATCH_BYTES (256 * 1024)

/* One store thread. */
struct route {
    struct writer *writer;
    struct committer *committer; /* the thread's own */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct store_item *first, **last;
    bool up, draining, sleeping;
};

struct writer {
    struct writer_options options;
    struct route *routes;
    unsigned route_count;
    atomic_int_fast64_t requests, bytes; /* waiting */
    atomic_uint up;                      /* routes that are */
    atomic_uint running;
    bool draining; /* the loop's */
    void (*ended)(void *argument);
    void *ended_argument;
};

/* Whether it is a request's only or first event. */
static bool begins_request(const struct store_item *item)
{
    return !item->group || item == item->group->items;
}

/* The events of a request share its headers. */
static int64_t bytes_of(const struct store_item *item)
{
    const struct event *event = &item->event;

    return (int64_t)(sizeof(*item) + event->body.len + event->document.len +
                     (begins_request(item) ? event->headers.len : 0));
}

/* ---- answers ---- */

/* On the loop. done() may free the item. */
static void answer_list(void *argument)
{
    struct store_item *next;

    for (struct store_item *item = argument; item; item = next) {
        next = item->next;
        item->done(item);
    }
}

static void answer(void *argument, struct store_item *list)
{
    struct writer *writer = ((struct route *)argument)->writer;
    int64_t requests = 0, bytes = 0;

    for (const struct store_item *item = list; item; item = item->next) {
        requests += begins_request(item);
        bytes += bytes_of(item);
    }
    atomic_fetch_sub(&writer->requests, requests);
    atomic_fetch_sub(&writer->bytes, bytes);
    loop_post(writer->options.loop, answer_list, list);
}

static void stored(void *argument, struct str provider, enum queue queue, int64_t run_at)
{
    const struct writer_options *options = &((struct route *)argument)->writer->options;

    if (options->stored)
        options->stored(options->stored_argument, provider, queue, run_at);
}

static void different(void *argument, const struct event *event, int64_t first)
{
    const struct writer_options *options = &((struct route *)argument)->writer->options;

    if (options->different)
        options->different(options->different_argument, event, first);
}

/* ---- the connection came or went ---- */

/* One line when the first thread loses the database, one when the last has it back. */
static void log_change(struct writer *writer, bool up, unsigned up_count, const struct err *why)
{
    if (!up && up_count + 1 == writer->route_count)
        log_event(why->kind == ERR_NEVER ? LOG_ERROR : LOG_WARN,
                  "database is not available, answering 503", F_TEXT("why", why->text));
    if (up && up_count == writer->route_count)
        log_event(LOG_INFO, "database is available");
}

/* What waits in a queue without a connection is refused by the thread as the next batch. */
static void changed(void *argument, bool up, const struct err *why)
{
    struct route *route = argument;
    bool before;
    unsigned up_count;

    pthread_mutex_lock(&route->lock);
    before = route->up;
    route->up = up;
    pthread_mutex_unlock(&route->lock);
    if (before == up)
        return;
    up_count = up ? atomic_fetch_add(&route->writer->up, 1) + 1
                  : atomic_fetch_sub(&route->writer->up, 1) - 1;
    log_change(route->writer, up, up_count, why);
}

/* ---- the threads ---- */

/* Sleeps until there is something to do, at most `pause_us`. At the end of a drain what waits aside
 * is still waited for. */
static void sleep_on_queue(struct route *route, int64_t pause_us)
{
    struct timespec until;
    int64_t at = clock_mono_us() + pause_us;

    until.tv_sec = at / 1000000;
    until.tv_nsec = at % 1000000 * 1000;
    route->sleeping = true;
    while (!route->first && !(route->draining && committer_idle(route->committer)))
        if (pthread_cond_timedwait(&route->wake, &route->lock, &until) != 0)
            break;
    route->sleeping = false;
}

/* The last item of the request that begins with `item`. */
static struct store_item *end_of_request(struct store_item *item)
{
    return item->group ? &item->group->items[item->group->count - 1] : item;
}

/* Takes requests off the queue, up to the bounds of a batch: one at least, and whole ones. */
static struct store_item *take(struct route *route)
{
    const struct writer_options *options = &route->writer->options;
    struct store_item *first = route->first, *last = NULL, *end;
    int64_t bytes = 0, rows = 0;

    for (struct store_item *item = first; item; item = end->next) {
        end = end_of_request(item);
        for (const struct store_item *one = item; one != end->next; one = one->next) {
            bytes += bytes_of(one);
            rows++;
        }
        if (last && (rows > options->batch_rows || bytes > options->batch_bytes))
            break;
        last = end;
    }
    if (!last)
        return NULL;
    route->first = last->next;
    if (!route->first)
        route->last = &route->first;
    last->next = NULL;
    return first;
}

static void *run(void *argument)
{
    struct route *route = argument;
    struct writer *writer = route->writer;
    int64_t pause_us = committer_tend(route->committer); /* connects */
    bool draining;

    for (;;) {
        struct store_item *list;

        pthread_mutex_lock(&route->lock);
        if (!route->first && pause_us > 0)
            sleep_on_queue(route, pause_us);
        list = take(route);
        draining = route->draining;
        pthread_mutex_unlock(&route->lock);
        if (list)
            committer_run(route->committer, list);
        else if (draining && committer_idle(route->committer))
            break;
        pause_us = committer_tend(route->committer);
    }
    committer_free(route->committer);
    route->committer = NULL;
    if (atomic_fetch_sub(&writer->running, 1) == 1)
        loop_post(writer->options.loop, writer->ended, writer->ended_argument);
    return NULL;
}

static void start(struct writer *writer, struct route *route)
{
    const struct committer_options options = {
        .conninfo = writer->options.conninfo,
        .ack_timeout_ms = writer->options.ack_timeout_ms,
        .answer = answer,
        .stored = stored,
        .different = different,
        .changed = changed,
        .argument = route,
    };
    pthread_condattr_t attributes;

    route->writer = writer;
    route->up = true; /* until the first attempt to connect says otherwise */
    route->last = &route->first;
    route->committer = committer_new(&options);
    pthread_mutex_init(&route->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&route->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&route->thread, NULL, run, route) != 0)
        abort();
}

struct writer *writer_new(const struct writer_options *options)
{
    struct writer *writer = mem_alloc(sizeof(*writer));

    writer->options = *options;
    if (writer->options.batch_rows <= 0)
        writer->options.batch_rows = BATCH_ROWS;
    if (writer->options.batch_bytes <= 0)
        writer->options.batch_bytes = BATCH_BYTES;
    writer->route_count = options->threads > 0 ? (unsigned)options->threads : 1;
    writer->routes = mem_alloc(writer->route_count * sizeof(*writer->routes));
    atomic_store(&writer->up, writer->route_count);
    atomic_store(&writer->running, writer->route_count);
    for (unsigned i = 0; i < writer->route_count; i++)
        start(writer, &writer->routes[i]);
    return writer;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; i < writer->route_count; i++) {
        struct route *route = &writer->routes[i];

        pthread_join(route->thread, NULL);
        pthread_mutex_destroy(&route->lock);
        pthread_cond_destroy(&route->wake);
    }
    free(writer->routes);
    free(writer);
}

/* ---- the loop's side ---- */

/* FNV-1a over both parts of the identity (a NUL between them): equal ids go to one thread. */
static struct route *route_of(struct writer *writer, const struct event *event)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < event->provider.len; i++)
        hash = (hash ^ (unsigned char)event->provider.ptr[i]) * 16777619u;
    hash *= 16777619u;
    for (size_t i = 0; i < event->id.len; i++)
        hash = (hash ^ (unsigned char)event->id.ptr[i]) * 16777619u;
    hash ^= hash >> 16;
    return &writer->routes[hash % writer->route_count];
}

static bool has_room(const struct writer *writer, int64_t bytes)
{
    const struct writer_options *options = &writer->options;
    int64_t requests = atomic_load(&writer->requests);

    return requests < options->queue_max &&
           (requests == 0 || atomic_load(&writer->bytes) + bytes <= options->queue_max_bytes);
}

/* Puts one request, linked from its first item to its last. */
static bool put(struct writer *writer, struct store_item *first, struct store_item *last)
{
    struct route *route = route_of(writer, &first->event);
    int64_t bytes = 0;
    bool up, wake;

    for (struct store_item *item = first; item; item = item->next) {
        bytes += bytes_of(item);
        item->id = 0;
        item->run_at = 0;
    }
    if (writer->draining || !has_room(writer, bytes))
        return false;
    pthread_mutex_lock(&route->lock);
    up = route->up;
    wake = up && route->sleeping && !route->first;
    if (up) {
        atomic_fetch_add(&writer->requests, 1);
        atomic_fetch_add(&writer->bytes, bytes);
        *route->last = first;
        route->last = &last->next;
    }
    pthread_mutex_unlock(&route->lock);
    if (wake)
        pthread_cond_signal(&route->wake);
    return up;
}

bool writer_put(struct writer *writer, struct store_item *item)
{
    item->next = NULL;
    return put(writer, item, item);
}

bool writer_put_group(struct writer *writer, struct store_group *group)
{
    struct store_item *last = &group->items[group->count - 1];

    for (struct store_item *item = group->items; item < last; item++)
        item->next = item + 1;
    last->next = NULL;
    return put(writer, group->items, last);
}

bool writer_available(const struct writer *writer)
{
    return atomic_load(&writer->up) > 0;
}

void writer_drain(struct writer *writer, void (*ended)(void *argument), void *argument)
{
    writer->draining = true;
    writer->ended = ended;
    writer->ended_argument = argument;
    for (unsigned i = 0; i < writer->route_count; i++) {
        struct route *route = &writer->routes[i];

        pthread_mutex_lock(&route->lock);
        route->draining = true;
        pthread_cond_signal(&route->wake);
        pthread_mutex_unlock(&route->lock);
    }
}
