/* What belongs together, a batch of single events or a group: committed as a whole where that
 * works; where it does not, the row that is to blame is found. The order of a batch's rows never
 * changes, so that parts of it can be committed one after the other. A row that was answered or set
 * aside has its item NULL. */
#include "base/clock.h"
#include "base/log.h"
#include "inbox/answers.h"
#include "inbox/committer_parts.h"

#define STRIKES_MAX 3          /* single rows in a row that fail: it is not the rows */
#define WAITS_BEFORE_HALVING 5 /* of a batch behind a locked table */

#define LOG_INTERVAL_US ((int64_t)10 * 1000 * MS)

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
        verdict = attempt_rows(c, row, 1);
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
    enum verdict verdict = attempt_rows(c, rows, n);

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

bool committer_abandoned(const struct store_item *item)
{
    const bool *flag = item->group ? &item->group->abandoned : &item->abandoned;

    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

bool committer_row_abandoned(const struct batch_row *row)
{
    if (!committer_abandoned(row->item))
        return false;
    for (const struct store_item *item = row->repeats; item; item = item->next)
        if (!committer_abandoned(item))
            return false;
    return true;
}

/* Copies of what waits aside wait with it; what nobody waits for any more is not begun. */
static void drop_rows(struct committer *c, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_row *row = &batch->rows[i];

        if (committer_row_abandoned(row))
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
        attempt_lock_timeout(c, LOCK_TIMEOUT_MS);
        verdict = attempt_rows(c, batch->rows, batch->count);
        if (verdict != LOCKED && verdict != REFUSED)
            return verdict;
        if (clock_mono_us() > deadline)
            return NOT_NOW;
        if (verdict == LOCKED && waits > 0) {
            waits--;
            continue;
        }
        attempt_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
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
void committer_give_up(struct committer *c, struct batch_row *rows, size_t n, enum verdict verdict)
{
    static _Thread_local int64_t last_log;

    if (verdict == DOWN)
        attempt_give_up_session(c);
    else if (verdict == NOT_NOW && log_may_repeat(&last_log, LOG_INTERVAL_US))
        log_event(LOG_ERROR, "could not store events, answering 503", F_NUM("events", n),
                  F_TEXT("why", c->err.text));
    answers_refuse(&c->options, rows, n);
}

/* Events that are on their own. */
void committer_alone(struct committer *c, struct store_item *list)
{
    enum verdict verdict;

    batch_fill(&c->batch, list);
    if (!c->up) {
        answers_refuse(&c->options, c->batch.rows, c->batch.count);
        return;
    }
    verdict = commit_batch(c, &c->batch);
    if (verdict != DONE)
        committer_give_up(c, c->batch.rows, c->batch.count, verdict);
}

/* ---- groups ---- */

/* Finds a row that PostgreSQL refuses, in rows of which it refuses one or more: *at. REFUSED, or
 * what came between. */
static enum verdict find_refused(struct committer *c, struct batch_row *rows, size_t n, size_t *at)
{
    size_t low = 0, high = n; /* it is in rows[low..high) */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        enum verdict verdict = attempt_probe(c, rows + low, middle - low);

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

    attempt_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
    while ((verdict = attempt_rows(c, batch->rows, batch->count)) == REFUSED) {
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

void committer_group(struct committer *c, struct store_group *group)
{
    struct batch *batch = &c->batch;
    const struct batch_row row = {.item = group->items, .group = true};
    enum verdict verdict;

    fill_group(c, group);
    if (!c->up || committer_abandoned(group->items)) {
        answers_refuse(&c->options, batch->rows, batch->count);
        return;
    }
    verdict = commit_group(c, batch);
    if (verdict == LOCKED && !aside_put(c->aside, &row, clock_mono_us()))
        answers_refuse(&c->options, batch->rows, batch->count);
    else if (verdict != DONE && verdict != LOCKED)
        committer_give_up(c, batch->rows, batch->count, verdict);
}

/* ---- what waited aside ---- */

enum verdict committer_aside(struct committer *c, struct batch_row *row)
{
    enum verdict verdict;

    if (row->group) {
        fill_group(c, row->item->group);
        return commit_group(c, &c->batch);
    }
    attempt_lock_timeout(c, LOCK_TIMEOUT_SHORT_MS);
    verdict = attempt_rows(c, row, 1);
    return verdict == REFUSED ? store_without(c, row) : verdict;
}
