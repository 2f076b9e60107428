/* The patience of a store thread, see committer.h. The order of a batch's rows never changes, so
 * that parts of it can be committed one after the other. A row that was answered or set aside has
 * its item NULL. */
#include "inbox/committer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "inbox/answers.h"
#include "inbox/aside.h"
#include "inbox/store.h"

#define MS 1000

#define CONNECT_TIMEOUT_MS 2000
#define BACKOFF_FIRST_US (50 * MS)
#define BACKOFF_MAX_US (1000 * MS)
#define ALIVE_CHECK_US (1000 * MS)

#define LOCK_TIMEOUT_MS 100     /* of a batch: a twin that is about to commit */
#define LOCK_TIMEOUT_SHORT_MS 5 /* while looking for the blocked row, and for rows aside */
#define STRIKES_MAX 3           /* single rows in a row that fail: it is not the rows */
#define WAITS_BEFORE_HALVING 5  /* of a batch behind a locked table */

#define LOG_INTERVAL_US ((int64_t)10 * 1000 * MS)

enum verdict {
    DONE,    /* answered, or set aside */
    LOCKED,  /* somebody holds a row or a table */
    BLOCKED, /* it is no matter of single rows: wait with all of them */
    REFUSED, /* PostgreSQL does not take it, and not for want of anything */
    DOWN,    /* the database does not serve; the rows are not answered yet */
    NOT_NOW, /* not known to be committed, this time; the rows are not answered yet */
};

struct committer {
    struct committer_options options;
    struct db *db;
    struct store *store;
    struct batch batch;
    struct aside *aside;
    struct err err; /* of the last failure */

    bool up;
    int64_t backoff_us, connect_at_us, alive_at_us;
    int lock_timeout_ms;
    int strikes;
};

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

/* ---- the connection ---- */

static int64_t with_jitter(int64_t us)
{
    uint32_t random = 0;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)clock_mono_us();
    return us / 2 + (int64_t)(random % (uint32_t)(us / 2 + 1));
}

static void refuse_aside(struct committer *c)
{
    struct batch_row row;

    while (aside_take(c->aside, &row))
        answers_refuse(&c->options, &row, 1);
}

static void go_down(struct committer *c)
{
    db_disconnect(c->db);
    c->connect_at_us = clock_mono_us() + with_jitter(c->backoff_us);
    c->backoff_us = c->backoff_us * 2 < BACKOFF_MAX_US ? c->backoff_us * 2 : BACKOFF_MAX_US;
    c->up = false;
    c->options.changed(c->options.argument, false, &c->err);
    refuse_aside(c);
}

/* A session that died while nobody looked is replaced here, before anything is sent on it. */
static bool have_session(struct committer *c)
{
    bool was_connected = db_connected(c->db);

    if (db_connect(c->db, &c->err) < 0)
        return false;
    if (!was_connected)
        c->lock_timeout_ms = LOCK_TIMEOUT_MS;
    c->alive_at_us = clock_mono_us() + ALIVE_CHECK_US;
    return true;
}

static void set_lock_timeout(struct committer *c, int ms)
{
    char sql[64];

    if (c->lock_timeout_ms == ms || !db_connected(c->db))
        return;
    snprintf(sql, sizeof(sql), "SET lock_timeout = %d", ms);
    if (db_exec(c->db, sql, NULL) == 0)
        c->lock_timeout_ms = ms;
}

/* ---- one attempt ---- */

/* What follows a failure: how often the same is tried again, and what it means after that. */
static const struct {
    int again;
    enum verdict verdict;
} policy[] = {
    [DB_FAULT_NONE] = {0, NOT_NOW},       [DB_FAULT_LOST] = {1, DOWN},
    [DB_FAULT_UNAVAILABLE] = {0, DOWN},   [DB_FAULT_LOCKED] = {0, LOCKED},
    [DB_FAULT_CONFLICT] = {4, NOT_NOW},   [DB_FAULT_CANCELED] = {1, NOT_NOW},
    [DB_FAULT_STALE_PLAN] = {2, NOT_NOW}, [DB_FAULT_NO_PARTITION] = {6, NOT_NOW},
    [DB_FAULT_DATA] = {0, REFUSED},       [DB_FAULT_SCHEMA] = {0, NOT_NOW},
    [DB_FAULT_OTHER] = {0, REFUSED},
};

/* Sees to it that the next ids have a partition, more of them at every try. */
static void make_partitions(struct committer *c, int tries)
{
    struct db_args *args = db_args_new();

    db_args_int4(args, 1 << tries);
    if (db_run_text(c->db, "select inboxd.make_partitions($1)", args, NULL, &c->err) == 0)
        log_event(LOG_WARN, "made a partition that ingest was waiting for");
    db_args_free(args);
}

/* The fault of the last store_rows(); a session that was ended by the server is as good as lost. */
static enum db_fault fault_of(const struct committer *c)
{
    enum db_fault fault = store_fault(c->store);

    if (fault == DB_FAULT_UNAVAILABLE && strncmp(store_sqlstate(c->store), "57P", 3) == 0)
        return DB_FAULT_LOST;
    return fault;
}

/* One transaction for rows[0..n), repeated where that alone may help. */
static enum verdict commit_rows(struct committer *c, struct batch_row *rows, size_t n)
{
    int64_t late = clock_mono_us() + c->options.ack_timeout_ms * MS / 2;
    int again[ARRAY_LEN(policy)] = {0};
    bool lost = false;
    enum db_fault fault;

    for (;;) {
        if (!have_session(c))
            return DOWN;
        if (store_rows(c->store, rows, n, &c->err) == 0) {
            c->backoff_us = BACKOFF_FIRST_US;
            c->strikes = 0;
            answers_committed(&c->options, c->store, rows, n, lost);
            return DONE;
        }
        fault = fault_of(c);
        if (again[fault]++ >= policy[fault].again || clock_mono_us() > late)
            return policy[fault].verdict;
        if (fault == DB_FAULT_LOST)
            lost = true;
        if (fault == DB_FAULT_STALE_PLAN)
            db_disconnect(c->db);
        if (fault == DB_FAULT_NO_PARTITION)
            make_partitions(c, again[fault]);
    }
}

/* ---- single rows that do not commit ---- */

static void log_row(enum log_level level, const char *message, const struct committer *c,
                    const struct batch_row *row)
{
    log_event(level, message, F_STR("provider", row->item->event.provider),
              F_STR("event_id", row->item->event.id), F_TEXT("sqlstate", store_sqlstate(c->store)));
}

static void leave_out_more(const struct committer *c, struct batch_row *row)
{
    row->without++;
    log_row(LOG_WARN,
            row->without == WITHOUT_PAYLOAD ? "payload is refused by the database, left out"
                                            : "headers are refused by the database, left out",
            c, row);
}

/* The row that PostgreSQL refuses: with less and less of it. Its identity and its bytes are kept in
 * any case. */
static enum verdict store_without(struct committer *c, struct batch_row *row)
{
    enum verdict verdict = REFUSED;

    while (verdict == REFUSED && row->without < WITHOUT_HEADERS) {
        leave_out_more(c, row);
        verdict = commit_rows(c, row, 1);
    }
    if (verdict != REFUSED)
        return verdict;
    log_row(LOG_ERROR, "could not store event", c, row);
    answers_refuse(&c->options, row, 1);
    return ++c->strikes < STRIKES_MAX ? DONE : NOT_NOW;
}

/* The row that somebody holds: it waits aside. */
static enum verdict put_aside(struct committer *c, struct batch_row *row)
{
    if (!aside_put(c->aside, row, clock_mono_us()))
        answers_refuse(&c->options, row, 1);
    row->item = NULL;
    return ++c->strikes < STRIKES_MAX ? DONE : BLOCKED;
}

/* Parts of a batch that did not commit as a whole. */
static enum verdict commit_parts(struct committer *c, struct batch_row *rows, size_t n);

static enum verdict commit_part(struct committer *c, struct batch_row *rows, size_t n)
{
    enum verdict verdict = commit_rows(c, rows, n);

    if (verdict != LOCKED && verdict != REFUSED)
        return verdict;
    if (n > 1)
        return commit_parts(c, rows, n);
    if (verdict == REFUSED)
        verdict = store_without(c, rows);
    return verdict == LOCKED ? put_aside(c, rows) : verdict;
}

static enum verdict commit_parts(struct committer *c, struct batch_row *rows, size_t n)
{
    enum verdict verdict = commit_part(c, rows, n / 2);

    return verdict == DONE ? commit_part(c, rows + n / 2, n - n / 2) : verdict;
}

/* ---- batches ---- */

static bool abandoned(const struct store_item *item)
{
    const bool *flag = item->group ? &item->group->abandoned : &item->abandoned;

    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static bool row_abandoned(const struct batch_row *row)
{
    if (!abandoned(row->item))
        return false;
    for (const struct store_item *item = row->repeats; item; item = item->next)
        if (!abandoned(item))
            return false;
    return true;
}

/* Copies of what waits aside wait with it; what nobody waits for any more is not begun. */
static void drop_rows(struct committer *c, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_row *row = &batch->rows[i];

        if (row_abandoned(row))
            answers_refuse(&c->options, row, 1);
        else if (aside_join(c->aside, row))
            row->item = NULL;
    }
    batch_compact(batch);
}

/* Commits the batch, waiting behind a locked table while anybody waits for an answer. */
static enum verdict commit_batch(struct committer *c, struct batch *batch)
{
    int64_t deadline = clock_mono_us() + c->options.ack_timeout_ms * MS;
    int waits = 0;
    enum verdict verdict = DONE;

    for (;;) {
        drop_rows(c, batch);
        if (batch->count == 0)
            return DONE;
        set_lock_timeout(c, LOCK_TIMEOUT_MS);
        verdict = commit_rows(c, batch->rows, batch->count);
        if (verdict != LOCKED && verdict != REFUSED)
            return verdict;
        if (clock_mono_us() > deadline)
            return NOT_NOW;
        if (verdict == LOCKED && waits > 0) {
            waits--;
            continue;
        }
        set_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
        c->strikes = 0;
        verdict = batch->count == 1 ? commit_part(c, batch->rows, 1)
                                    : commit_parts(c, batch->rows, batch->count);
        if (verdict != BLOCKED)
            return verdict;
        batch_compact(batch);
        waits = WAITS_BEFORE_HALVING;
    }
}

/* What is left of rows after a verdict that answers none. */
static void give_up(struct committer *c, struct batch_row *rows, size_t n, enum verdict verdict)
{
    static _Thread_local int64_t last_log;

    if (verdict == DOWN)
        go_down(c);
    else if (verdict == NOT_NOW && log_may_repeat(&last_log, LOG_INTERVAL_US))
        log_event(LOG_ERROR, "could not store events, answering 503", F_NUM("events", n),
                  F_TEXT("why", c->err.text));
    answers_refuse(&c->options, rows, n);
}

/* Events that are on their own. */
static void run_alone(struct committer *c, struct store_item *list)
{
    enum verdict verdict;

    batch_fill(&c->batch, list);
    if (!c->up) {
        answers_refuse(&c->options, c->batch.rows, c->batch.count);
        return;
    }
    verdict = commit_batch(c, &c->batch);
    if (verdict != DONE)
        give_up(c, c->batch.rows, c->batch.count, verdict);
}

/* ---- groups ---- */

/* What became of rows if they were stored now. */
static enum verdict probe_rows(struct committer *c, struct batch_row *rows, size_t n)
{
    if (!have_session(c))
        return DOWN;
    return store_probe(c->store, rows, n, &c->err) == 0 ? DONE : policy[fault_of(c)].verdict;
}

/* Finds a row that PostgreSQL refuses, in rows of which it refuses one or more: *at. REFUSED, or
 * what came between. */
static enum verdict find_refused(struct committer *c, struct batch_row *rows, size_t n, size_t *at)
{
    size_t low = 0, high = n; /* it is in rows[low..high) */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        enum verdict verdict = probe_rows(c, rows + low, middle - low);

        if (verdict == REFUSED)
            high = middle;
        else if (verdict == DONE)
            low = middle;
        else
            return verdict;
    }
    *at = low;
    return REFUSED;
}

/* Leaves out more of the row that PostgreSQL refuses. DONE: worth another try. */
static enum verdict spoil_refused(struct committer *c, struct batch *batch)
{
    size_t at = 0;
    enum verdict verdict = find_refused(c, batch->rows, batch->count, &at);
    struct batch_row *row = &batch->rows[at];

    if (verdict != REFUSED)
        return verdict;
    if (row->without == WITHOUT_HEADERS) {
        log_row(LOG_ERROR, "could not store event, nor those that came with it", c, row);
        answers_refuse(&c->options, batch->rows, batch->count);
        return REFUSED;
    }
    leave_out_more(c, row);
    return DONE;
}

/* Commits the batch, which is one group. LOCKED: as it was, somebody holds one of its ids. */
static enum verdict commit_group(struct committer *c, struct batch *batch)
{
    int64_t deadline = clock_mono_us() + c->options.ack_timeout_ms * MS;
    enum verdict verdict;

    set_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
    while ((verdict = commit_rows(c, batch->rows, batch->count)) == REFUSED) {
        verdict = clock_mono_us() > deadline ? NOT_NOW : spoil_refused(c, batch);
        if (verdict != DONE)
            break;
    }
    return verdict == REFUSED ? DONE : verdict;
}

static void fill_group(struct committer *c, struct store_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        group->items[i].next = i + 1 < group->count ? &group->items[i + 1] : NULL;
    batch_fill(&c->batch, group->items);
}

static void run_group(struct committer *c, struct store_group *group)
{
    struct batch *batch = &c->batch;
    const struct batch_row row = {.item = group->items, .group = true};
    enum verdict verdict;

    fill_group(c, group);
    if (!c->up || abandoned(group->items)) {
        answers_refuse(&c->options, batch->rows, batch->count);
        return;
    }
    verdict = commit_group(c, batch);
    if (verdict == LOCKED && !aside_put(c->aside, &row, clock_mono_us()))
        answers_refuse(&c->options, batch->rows, batch->count);
    else if (verdict != DONE && verdict != LOCKED)
        give_up(c, batch->rows, batch->count, verdict);
}

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
        run_group(c, item->group);
    }
    if (alone)
        run_alone(c, alone);
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
            drop = abandoned(item);
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
    set_lock_timeout(c, LOCK_TIMEOUT_MS);
    verdict = commit_rows(c, batch->rows, batch->count);
    if (verdict == LOCKED || verdict == REFUSED)
        run_apart(c, batch_take(batch));
    else if (verdict != DONE)
        give_up(c, batch->rows, batch->count, verdict);
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
        run_alone(c, list);
    else if (aside_count(c->aside) > 0)
        run_apart(c, list);
    else
        run_together(c, list);
}

/* ---- upkeep ---- */

static enum verdict commit_aside(struct committer *c, struct batch_row *row)
{
    enum verdict verdict;

    if (row->group) {
        fill_group(c, row->item->group);
        return commit_group(c, &c->batch);
    }
    set_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
    verdict = commit_rows(c, row, 1);
    return verdict == REFUSED ? store_without(c, row) : verdict;
}

/* Tries one row that waits aside. */
static void try_aside(struct committer *c, struct batch_row *row, int64_t since_us)
{
    enum verdict verdict;

    if (row_abandoned(row) || clock_mono_us() > since_us + c->options.ack_timeout_ms * MS) {
        answers_refuse(&c->options, row, 1);
        return;
    }
    verdict = commit_aside(c, row);
    if (verdict == LOCKED)
        aside_put_back(c->aside, row, since_us, clock_mono_us());
    else if (verdict != DONE)
        give_up(c, row, 1, verdict);
}

static void reconnect(struct committer *c)
{
    if (!have_session(c)) {
        go_down(c);
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
        if (c->up && now >= c->alive_at_us && !have_session(c))
            go_down(c);
    }
    now = clock_mono_us();
    next = c->up ? c->alive_at_us : c->connect_at_us;
    if (c->up && aside_next_us(c->aside) < next)
        next = aside_next_us(c->aside);
    return next > now ? next - now : 0;
}
