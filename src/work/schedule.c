/* Turns and looks. A look from behind the cursors or over everything takes longer the more an old
 * snapshot holds back; each has its interval, and takes no more than a twentieth of the time. */
#include "work/schedule.h"

#include <stdlib.h>

#include "base/clock.h"

#define LOOK_US (100 * 1000)
#define LOOK_JITTER_US (150 * 1000)
#define SWEEP_US (1000 * 1000)
#define BEHIND_US (5 * 1000 * 1000)
#define LOOK_PATIENCE_US (1000 * 1000)
#define SHARE 20 /* one of so many */

int64_t schedule_random(int64_t below)
{
    return below > 0 ? (int64_t)arc4random_uniform((uint32_t)below) : 0;
}

/* ---- providers ---- */

static size_t place_of(const struct schedule *schedule, struct str name)
{
    size_t low = 0, high = schedule->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (str_compare(schedule->sources[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct source *schedule_find(const struct schedule *schedule, struct str name)
{
    size_t place = place_of(schedule, name);

    if (place < schedule->count && str_equal(schedule->sources[place]->name, name))
        return schedule->sources[place];
    return NULL;
}

static struct source *add(struct schedule *schedule, struct str name)
{
    size_t place = place_of(schedule, name);
    struct source *source = mem_alloc(sizeof(*source));

    source->name = (struct str){mem_copy(name), name.len};
    for (int i = 0; i < QUEUE_COUNT; i++)
        feed_init(&source->feeds[i]);
    schedule->sources =
        mem_resize(schedule->sources, (schedule->count + 1) * sizeof(struct source *));
    memmove(schedule->sources + place + 1, schedule->sources + place,
            (schedule->count - place) * sizeof(struct source *));
    schedule->sources[place] = source;
    schedule->count++;
    return source;
}

void schedule_set_plan(struct schedule *schedule, const struct plan *plan)
{
    for (size_t i = 0; i < schedule->count; i++)
        schedule->sources[i]->plan_index = -1;
    for (size_t i = 0; i < plan->count; i++) {
        struct str name = plan->providers[i].config->name;
        struct source *source = schedule_find(schedule, name);

        if (!source)
            source = add(schedule, name);
        source->plan_index = (int)i;
    }
    schedule->next_look_us = schedule->next_sweep_us = 0;
    schedule->turns = 0;
}

void schedule_release(struct schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++) {
        free((char *)schedule->sources[i]->name.ptr);
        free(schedule->sources[i]);
    }
    free(schedule->sources);
}

/* ---- turns ---- */

/* The queue that was served last comes last. */
static bool wants(const struct schedule *schedule, const struct source *source,
                  const struct plan *plan, int64_t now_us, enum queue *queue)
{
    const struct plan_provider *provider;

    if (source->plan_index < 0)
        return false;
    provider = &plan->providers[source->plan_index];
    if (source->running >= provider->config->concurrency)
        return false;
    for (int i = 1; i <= QUEUE_COUNT; i++) {
        *queue = (enum queue)(((int)source->last + i) % QUEUE_COUNT);
        if (feed_wants(&source->feeds[*queue], now_us) &&
            (source->feeds[*queue].ready || schedule_alone_fits(schedule, provider)) &&
            !(*queue == QUEUE_LANE && provider->lanes_are_pulled))
            return true;
    }
    return false;
}

static void take_turn(struct schedule *schedule, size_t n, bool again, const struct plan *plan)
{
    int weight = plan->providers[schedule->sources[n]->plan_index].config->weight;

    schedule->turns = again ? schedule->turns + 1 : 1;
    schedule->turn = n;
    if (schedule->turns >= weight) {
        schedule->turn = n + 1;
        schedule->turns = 0;
    }
}

struct source *schedule_pick(struct schedule *schedule, const struct plan *plan, int64_t now_us,
                             enum queue *queue)
{
    for (size_t i = 0; i < schedule->count; i++) {
        size_t n = (schedule->turn + i) % schedule->count;

        if (wants(schedule, schedule->sources[n], plan, now_us, queue)) {
            take_turn(schedule, n, i == 0, plan);
            schedule->sources[n]->last = *queue;
            return schedule->sources[n];
        }
    }
    return NULL;
}

bool schedule_has_more(const struct schedule *schedule, const struct plan *plan, int64_t now_us)
{
    enum queue queue;

    for (size_t i = 0; i < schedule->count; i++)
        if (wants(schedule, schedule->sources[i], plan, now_us, &queue))
            return true;
    return false;
}

bool schedule_alone_fits(const struct schedule *schedule, const struct plan_provider *provider)
{
    return schedule->alone_in_process == 0 && (!provider->in_process || schedule->alone == 0);
}

void schedule_alone_begin(struct schedule *schedule, const struct plan_provider *provider)
{
    schedule->alone++;
    schedule->alone_in_process += provider->in_process;
}

void schedule_alone_end(struct schedule *schedule, const struct plan_provider *provider)
{
    schedule->alone--;
    schedule->alone_in_process -= provider->in_process;
}

/* ---- looking ---- */

bool schedule_look_due(struct schedule *schedule, int64_t now_us)
{
    if (schedule->looking ? now_us < schedule->look_began_us + LOOK_PATIENCE_US
                          : now_us < schedule->next_look_us)
        return false;
    schedule->looking = true;
    schedule->look_began_us = now_us;
    return true;
}

int64_t schedule_next_look(const struct schedule *schedule)
{
    /* Who looks now calls somebody when it is done. */
    return schedule->looking ? clock_mono_us() + LOOK_US : schedule->next_look_us;
}

static enum look_kind kind_of_look(struct schedule *schedule, int64_t now_us)
{
    if (now_us >= schedule->next_sweep_us)
        return LOOK_SWEEP;
    schedule->behind_last = !schedule->behind_last && now_us >= schedule->next_behind_us;
    return schedule->behind_last ? LOOK_BEHIND : LOOK_CURSOR;
}

static struct position place_of_look(enum look_kind kind, const struct feed *feed)
{
    switch (kind) {
    case LOOK_CURSOR:
        return feed->cursor;
    case LOOK_BEHIND:
        if (feed->cursor.run_at > INT64_MIN + BEHIND_US)
            return (struct position){feed->cursor.run_at - BEHIND_US, 0};
        break;
    case LOOK_SWEEP:
        break;
    }
    return POSITION_START;
}

void schedule_look_begin(struct schedule *schedule, struct look *look, int64_t now_us)
{
    size_t size = schedule->count * QUEUE_COUNT + 1;

    look->kind = kind_of_look(schedule, now_us);
    if (look->kind == LOOK_SWEEP)
        schedule->next_sweep_us = now_us + SWEEP_US; /* if this one hangs, the next is no sweep */
    look->feeds = mem_alloc(size * sizeof(struct feed *));
    look->at = mem_alloc(size * sizeof(*look->at));
    look->due = mem_alloc(size * sizeof(*look->due));
    for (size_t i = 0; i < schedule->count; i++) {
        struct source *source = schedule->sources[i];

        if (source->plan_index < 0)
            continue;
        for (int queue = 0; queue < QUEUE_COUNT; queue++) {
            struct feed *feed = &source->feeds[queue];

            look->feeds[look->count] = feed;
            look->at[look->count++] =
                (struct look_at){source->name, (enum queue)queue, place_of_look(look->kind, feed)};
        }
    }
}

static int64_t after_share(int64_t now_us, int64_t interval_us, int64_t took_us)
{
    return now_us + (took_us * SHARE > interval_us ? took_us * SHARE : interval_us);
}

void schedule_look_end(struct schedule *schedule, const struct look *look, bool ok, int64_t took_us)
{
    int64_t now = clock_mono_us();

    schedule->looking = false;
    schedule->next_look_us = now + LOOK_US + schedule_random(LOOK_JITTER_US);
    if (!ok)
        return;
    if (look->kind == LOOK_SWEEP)
        schedule->next_sweep_us = after_share(now, SWEEP_US, took_us);
    if (look->kind == LOOK_BEHIND)
        schedule->next_behind_us = after_share(now, LOOK_US, took_us);
    for (size_t i = 0; i < look->count; i++) {
        struct feed *feed = look->feeds[i];

        if (look->due[i].due)
            feed_lower(feed, (struct position){look->due[i].due_at, 0});
        if (look->due[i].suspect_due)
            feed->alone_due = true;
    }
}

void look_release(struct look *look)
{
    free(look->feeds);
    free(look->at);
    free(look->due);
}
