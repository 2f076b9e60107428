/* A store thread's work as it comes, see committer.h: what goes into which transaction, and when
 * what waits is tried again. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "inbox/answers.h"
#include "inbox/committer_parts.h"

#define CONNECT_TIMEOUT_MS 2000

struct committer *committer_new(const struct committer_options *options)
{
    struct committer *c = mem_alloc(sizeof(*c));
    char settings[256];
    int64_t ack_ms = options->ack_timeout_ms;

    /* Sequential scans of tables that were small when the plan was made, and plans made anew for
     * every batch, are what makes ingest slow. */
    snprintf(settings, sizeof(settings),
             "SET lock_timeout = %d; SET statement_timeout = %lld; SET enable_seqscan = off;"
             "SET plan_cache_mode = force_generic_plan; SET idle_in_transaction_session_timeout = "
             "'1min'",
             LOCK_TIMEOUT_MS, (long long)(ack_ms - ack_ms / 5));
    c->options = *options;
    c->db = db_new(&(struct db_options){.conninfo = options->conninfo,
                                        .application_name = "inboxd store",
                                        .settings = settings,
                                        .connect_timeout_ms = CONNECT_TIMEOUT_MS});
    db_set_timeout(c->db, (int)ack_ms);
    c->store = store_new(c->db);
    c->aside = aside_new();
    batch_init(&c->batch);
    c->backoff_us = BACKOFF_FIRST_US;
    return c;
}

void committer_free(struct committer *c)
{
    if (!c)
        return;
    aside_free(c->aside);
    batch_release(&c->batch);
    store_free(c->store);
    db_free(c->db);
    free(c);
}

bool committer_idle(const struct committer *c)
{
    return aside_count(c->aside) == 0;
}

/* ---- batches ---- */

/* Moves the groups of the list behind each other into *groups; returns the other items. */
static struct store_item *split_list(struct store_item *list, struct store_item **groups)
{
    struct store_item *alone = NULL, **last_alone = &alone, **last_group = groups, *next;

    *groups = NULL;
    for (struct store_item *item = list; item; item = next) {
        struct store_item ***last = batch_is_grouped(item) ? &last_group : &last_alone;

        next = item->next;
        item->next = NULL;
        **last = item;
        *last = &item->next;
    }
    return alone;
}

/* Each group by itself, then the others together. */
static void run_apart(struct committer *c, struct store_item *list)
{
    struct store_item *groups, *alone = split_list(list, &groups), *after;

    for (struct store_item *item = groups; item; item = after) {
        after = item->group->items[item->group->count - 1].next;
        committer_group(c, item->group);
    }
    if (alone)
        committer_alone(c, alone);
}

/* Takes what nobody waits for any more off the list: once begun, a group is stored whole. */
static struct store_item *drop_abandoned(struct committer *c, struct store_item *list)
{
    struct store_item *kept = NULL, **last = &kept, *dropped = NULL, *next;
    const struct store_group *group = NULL;
    bool drop = false;

    for (struct store_item *item = list; item; item = next) {
        next = item->next;
        item->next = NULL;
        if (!item->group || item->group != group)
            drop = committer_abandoned(item);
        group = item->group;
        if (drop) {
            answers_push(&dropped, item, STORE_UNAVAILABLE);
        } else {
            *last = item;
            last = &item->next;
        }
    }
    if (dropped)
        c->options.answer(c->options.argument, dropped);
    return kept;
}

/* All together; where that does not commit for the sake of single rows, apart. */
static void run_together(struct committer *c, struct store_item *list)
{
    struct batch *batch = &c->batch;
    enum verdict verdict;

    list = drop_abandoned(c, list);
    if (!list)
        return;
    batch_fill(batch, list);
    attempt_lock_timeout(c, LOCK_TIMEOUT_MS);
    verdict = attempt_rows(c, batch->rows, batch->count);
    if (verdict == LOCKED || verdict == REFUSED)
        run_apart(c, batch_take(batch));
    else if (verdict != DONE)
        committer_give_up(c, batch->rows, batch->count, verdict);
}

static bool has_group(const struct store_item *list)
{
    for (const struct store_item *item = list; item; item = item->next)
        if (batch_is_grouped(item))
            return true;
    return false;
}

/* While something waits aside, groups are not put among others: they may hold copies of it. */
void committer_run(struct committer *c, struct store_item *list)
{
    if (!c->up || !has_group(list))
        committer_alone(c, list);
    else if (aside_count(c->aside) > 0)
        run_apart(c, list);
    else
        run_together(c, list);
}

/* ---- upkeep ---- */

/* Tries one row that waits aside. */
static void try_aside(struct committer *c, struct batch_row *row, int64_t since_us)
{
    enum verdict verdict;

    if (committer_row_abandoned(row) ||
        clock_mono_us() > since_us + c->options.ack_timeout_ms * MS) {
        answers_refuse(&c->options, row, 1);
        return;
    }
    verdict = committer_aside(c, row);
    if (verdict == LOCKED)
        aside_put_back(c->aside, row, since_us, clock_mono_us());
    else if (verdict != DONE)
        committer_give_up(c, row, 1, verdict);
}

static void reconnect(struct committer *c)
{
    if (!attempt_session(c)) {
        attempt_give_up_session(c);
        return;
    }
    c->up = true;
    c->options.changed(c->options.argument, true, NULL);
}

int64_t committer_tend(struct committer *c)
{
    int64_t now = clock_mono_us(), next, since_us;
    struct batch_row row;

    if (!c->up) {
        if (now >= c->connect_at_us)
            reconnect(c);
    } else {
        if (aside_take_due(c->aside, now, &row, &since_us))
            try_aside(c, &row, since_us);
        if (c->up && now >= c->alive_at_us && !attempt_session(c))
            attempt_give_up_session(c);
    }
    now = clock_mono_us();
    next = c->up ? c->alive_at_us : c->connect_at_us;
    if (c->up && aside_next_us(c->aside) < next)
        next = aside_next_us(c->aside);
    return next > now ? next - now : 0;
}
