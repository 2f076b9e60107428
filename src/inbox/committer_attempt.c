/* The session of a store thread and one attempt to commit on it: what is worth another try at once,
 * and what a failure means when it is not. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/log.h"
#include "inbox/answers.h"
#include "inbox/committer_parts.h"

#define ALIVE_CHECK_US (1000 * MS)

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

void attempt_give_up_session(struct committer *c)
{
    db_disconnect(c->db);
    c->connect_at_us = clock_mono_us() + with_jitter(c->backoff_us);
    c->backoff_us = c->backoff_us * 2 < BACKOFF_MAX_US ? c->backoff_us * 2 : BACKOFF_MAX_US;
    c->up = false;
    c->options.changed(c->options.argument, false, &c->err);
    refuse_aside(c);
}

/* A session that died while nobody looked is replaced here, before anything is sent on it. */
bool attempt_session(struct committer *c)
{
    bool was_connected = db_connected(c->db);

    if (db_connect(c->db, &c->err) < 0)
        return false;
    if (!was_connected)
        c->lock_timeout_ms = LOCK_TIMEOUT_MS;
    c->alive_at_us = clock_mono_us() + ALIVE_CHECK_US;
    return true;
}

void attempt_lock_timeout(struct committer *c, int ms)
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
enum verdict attempt_rows(struct committer *c, struct batch_row *rows, size_t n)
{
    int64_t late = clock_mono_us() + c->options.ack_timeout_ms * MS / 2;
    int again[ARRAY_LEN(policy)] = {0};
    bool lost = false;
    enum db_fault fault;

    for (;;) {
        if (!attempt_session(c))
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

/* What became of rows if they were stored now. */
enum verdict attempt_probe(struct committer *c, struct batch_row *rows, size_t n)
{
    if (!attempt_session(c))
        return DOWN;
    return store_probe(c->store, rows, n, &c->err) == 0 ? DONE : policy[fault_of(c)].verdict;
}
