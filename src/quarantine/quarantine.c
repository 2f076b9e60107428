/* The thread and what it shares. Writing comes in batches with a pause between them, so that a
 * flood of refused requests is no flood of transactions. What could not be written goes back into
 * the queue, in front. */
#include "quarantine/quarantine.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "quarantine/cap.h"
#include "quarantine/keep.h"
#include "quarantine/queue.h"
#include "quarantine/release.h"

#define MS ((int64_t)1000)
#define SECOND_US (1000 * MS)
#define QUEUE_ROWS 1000
#define QUEUE_BYTES ((int64_t)16 * 1024 * 1024)
#define BATCH_ROWS 100
#define BATCH_BYTES ((int64_t)1024 * 1024)
#define BATCH_PAUSE_US (100 * MS)
#define RETRY_US SECOND_US
#define RELEASE_US (500 * MS) /* between two looks for what operators have marked */
#define COUNT_US (5 * SECOND_US)
#define STATEMENT_TIMEOUT_MS 20000
#define FAREWELL_TIMEOUT_MS 1000
#define LOG_INTERVAL_US (60 * SECOND_US)

static const char session_settings[] = "SET lock_timeout = '2s'; SET statement_timeout = '15s';"
                                       "SET idle_in_transaction_session_timeout = '1min'";

struct dropped {
    char *provider;
    int64_t count; /* not written yet */
};

struct quarantine {
    struct db *db; /* the thread's, as what follows */
    struct keep *keep;
    struct release *release;
    int64_t write_at_us, count_at_us, release_at_us, logged_us;
    int64_t unsaid, said_us; /* dropped requests that are not in the log yet */

    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    bool stopping;
    const struct config *config;
    struct terms *terms; /* the newest, not yet taken by the thread; or NULL */
    struct refused_queue queue;
    struct cap *cap;
    struct dropped *dropped; /* one a provider that ever had to drop */
    size_t dropped_count;
};

/* ---- putting ---- */

/* Under the lock. */
static void count_dropped(struct quarantine *quarantine, struct str provider, int64_t count)
{
    size_t i = 0;

    while (i < quarantine->dropped_count && !str_is(provider, quarantine->dropped[i].provider))
        i++;
    if (i == quarantine->dropped_count) {
        quarantine->dropped = mem_resize(quarantine->dropped, (i + 1) * sizeof(struct dropped));
        quarantine->dropped[i] = (struct dropped){.provider = mem_copy(provider)};
        quarantine->dropped_count++;
    }
    quarantine->dropped[i].count += count;
}

/* Whether there is room for one of that provider and source; else it is counted as dropped. */
static bool admit(struct quarantine *quarantine, const struct provider_config *provider,
                  struct str source_ip, size_t body)
{
    const struct quarantine_bounds *bounds = &provider->quarantine_max;
    bool fits = (int64_t)body <= bounds->bytes && (int64_t)body <= QUEUE_BYTES;

    if (provider->quarantine == SWITCH_OFF)
        return false;
    pthread_mutex_lock(&quarantine->lock);
    fits = fits && cap_take(quarantine->cap, provider->name, refused_source(source_ip),
                            bounds->per_minute, clock_mono_us());
    if (!fits)
        count_dropped(quarantine, provider->name, 1);
    pthread_mutex_unlock(&quarantine->lock);
    return fits;
}

static void put(struct quarantine *quarantine, struct refused *refused)
{
    struct refused *gone, *next;

    pthread_mutex_lock(&quarantine->lock);
    if (!quarantine->queue.first)
        pthread_cond_signal(&quarantine->wake);
    gone = queue_put(&quarantine->queue, refused);
    for (refused = gone; refused; refused = refused->next)
        count_dropped(quarantine, refused->provider, 1);
    pthread_mutex_unlock(&quarantine->lock);
    for (; gone; gone = next) {
        next = gone->next;
        refused_free(gone);
    }
}

void quarantine_put(struct quarantine *quarantine, const struct provider_config *provider,
                    const struct request *request, const char *reason)
{
    if (admit(quarantine, provider, request->source_ip, request->body.len))
        put(quarantine, refused_new(provider, request, reason));
}

void quarantine_put_different(struct quarantine *quarantine, const struct event *event,
                              int64_t first)
{
    const struct provider_config *provider;
    const struct config *config;

    pthread_mutex_lock(&quarantine->lock);
    config = config_ref(quarantine->config);
    pthread_mutex_unlock(&quarantine->lock);
    provider = config_provider(config, event->provider);
    if (provider && admit(quarantine, provider, event->source_ip, event->body.len))
        put(quarantine, refused_new_different(provider, event, first));
    config_unref(config);
}

/* ---- writing ---- */

static void free_list(struct refused *list)
{
    struct refused *next;

    for (; list; list = next) {
        next = list->next;
        refused_free(list);
    }
}

static void note_failure(struct quarantine *quarantine, const char *what, const struct err *err)
{
    if (log_may_repeat(&quarantine->logged_us, LOG_INTERVAL_US))
        log_event(LOG_WARN, what, F_TEXT("why", err->text));
}

/* A row that PostgreSQL does not take is found by writing them one at a time; it is dropped. */
static void write_singly(struct quarantine *quarantine, struct refused *list)
{
    struct refused *next;

    for (; list; list = next) {
        struct err err = {0};

        next = list->next;
        list->next = NULL;
        if (keep_write(quarantine->keep, list, &err) < 0) {
            pthread_mutex_lock(&quarantine->lock);
            count_dropped(quarantine, list->provider, 1);
            pthread_mutex_unlock(&quarantine->lock);
        }
        refused_free(list);
    }
}

/* 0: there was nothing to write, or it was written. */
static int write_batch(struct quarantine *quarantine)
{
    struct err err = {0};
    struct refused *list;
    int rc;

    pthread_mutex_lock(&quarantine->lock);
    list = queue_take(&quarantine->queue, BATCH_ROWS, BATCH_BYTES);
    pthread_mutex_unlock(&quarantine->lock);
    if (!list)
        return 0;
    rc = db_connect(quarantine->db, &err);
    if (rc == 0)
        rc = keep_write(quarantine->keep, list, &err);
    if (rc == 0) {
        free_list(list);
    } else if (err.kind == ERR_INPUT) {
        write_singly(quarantine, list);
        rc = 0;
    } else {
        note_failure(quarantine, "could not keep refused requests, trying again", &err);
        pthread_mutex_lock(&quarantine->lock);
        queue_return(&quarantine->queue, list);
        pthread_mutex_unlock(&quarantine->lock);
    }
    return rc;
}

/* ---- what was dropped ---- */

/* The parameters of quarantine_dropped.sql; sets the counts back. Returns how many rows. */
static size_t take_dropped(struct quarantine *quarantine, struct db_args *args, int64_t *sum)
{
    size_t rows = 0;

    db_args_clear(args);
    pthread_mutex_lock(&quarantine->lock);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < quarantine->dropped_count; i++)
        if (quarantine->dropped[i].count > 0)
            db_args_element(args, str_from(quarantine->dropped[i].provider));
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < quarantine->dropped_count; i++) {
        if (quarantine->dropped[i].count == 0)
            continue;
        db_args_element_int8(args, quarantine->dropped[i].count);
        *sum += quarantine->dropped[i].count;
        quarantine->dropped[i].count = 0;
        rows++;
    }
    db_args_array_end(args);
    pthread_mutex_unlock(&quarantine->lock);
    return rows;
}

/* What cannot be written is in the log, which has a line a minute. */
static void write_dropped(struct quarantine *quarantine)
{
    struct db_args *args = db_args_new();
    int64_t sum = 0;

    if (take_dropped(quarantine, args, &sum) > 0) {
        quarantine->unsaid += sum;
        if (db_connect(quarantine->db, NULL) == 0)
            (void)!db_run(quarantine->db, db_query("quarantine_dropped"), args, NULL, NULL);
    }
    db_args_free(args);
    if (quarantine->unsaid > 0 && log_may_repeat(&quarantine->said_us, LOG_INTERVAL_US)) {
        log_event(LOG_WARN, "refused requests were not kept, for want of room",
                  F_NUM("count", quarantine->unsaid));
        quarantine->unsaid = 0;
    }
}

/* ---- releasing ---- */

/* Goes by the newest terms from here on. */
static void follow_terms(struct quarantine *quarantine)
{
    struct terms *terms;

    pthread_mutex_lock(&quarantine->lock);
    terms = quarantine->terms;
    quarantine->terms = NULL;
    pthread_mutex_unlock(&quarantine->lock);
    if (terms)
        release_configure(quarantine->release, terms);
}

/* One of those that are marked. Returns when to come again. */
static int64_t release_one(struct quarantine *quarantine)
{
    struct err err = {0};
    int rc;

    follow_terms(quarantine);
    if (db_connect(quarantine->db, &err) < 0)
        return RETRY_US; /* the others say so */
    rc = release_step(quarantine->release, &err);
    if (rc == 0)
        release_rest(quarantine->release);
    if (rc < 0)
        note_failure(quarantine, "could not release from the quarantine, trying again", &err);
    return rc < 0 ? RETRY_US : rc > 0 ? 0 : RELEASE_US;
}

/* ---- the thread ---- */

/* Sleeps until there is something to do; false: stopping. */
static bool wait_for_work(struct quarantine *quarantine)
{
    bool go_on;

    pthread_mutex_lock(&quarantine->lock);
    while (!quarantine->stopping) {
        int64_t at = quarantine->queue.first ? quarantine->write_at_us : INT64_MAX;
        struct timespec until;

        if (quarantine->count_at_us < at)
            at = quarantine->count_at_us;
        if (quarantine->release_at_us < at)
            at = quarantine->release_at_us;
        if (at <= clock_mono_us())
            break;
        until.tv_sec = at / SECOND_US;
        until.tv_nsec = at % SECOND_US * 1000;
        pthread_cond_timedwait(&quarantine->wake, &quarantine->lock, &until);
    }
    go_on = !quarantine->stopping;
    pthread_mutex_unlock(&quarantine->lock);
    return go_on;
}

static bool is_empty(struct quarantine *quarantine)
{
    bool empty;

    pthread_mutex_lock(&quarantine->lock);
    empty = !quarantine->queue.first;
    pthread_mutex_unlock(&quarantine->lock);
    return empty;
}

/* Unless the database is gone. The interrupt that ended the last batch may hit the first of these.
 */
static void say_goodbye(struct quarantine *quarantine)
{
    int64_t until = clock_mono_us() + FAREWELL_TIMEOUT_MS * MS;
    int failures = 0;

    db_set_timeout(quarantine->db, FAREWELL_TIMEOUT_MS);
    while (db_connected(quarantine->db) && !is_empty(quarantine) && failures < 2 &&
           clock_mono_us() < until)
        failures += write_batch(quarantine) < 0;
    quarantine->said_us = 0;
    if (db_connected(quarantine->db))
        write_dropped(quarantine);
}

static void *run(void *argument)
{
    struct quarantine *quarantine = argument;

    while (wait_for_work(quarantine)) {
        if (clock_mono_us() >= quarantine->write_at_us)
            quarantine->write_at_us =
                clock_mono_us() + (write_batch(quarantine) < 0 ? RETRY_US : BATCH_PAUSE_US);
        if (clock_mono_us() >= quarantine->release_at_us)
            quarantine->release_at_us = release_one(quarantine) + clock_mono_us();
        if (clock_mono_us() >= quarantine->count_at_us) {
            write_dropped(quarantine);
            quarantine->count_at_us = clock_mono_us() + COUNT_US;
        }
    }
    say_goodbye(quarantine);
    return NULL;
}

/* ---- the face ---- */

struct quarantine *quarantine_new(const struct config *config)
{
    struct quarantine *quarantine = mem_alloc(sizeof(*quarantine));
    pthread_condattr_t attributes;

    quarantine->db = db_new(&(struct db_options){.conninfo = config->database.ptr,
                                                 .application_name = "inboxd quarantine",
                                                 .connect_timeout_ms = 2000,
                                                 .settings = session_settings});
    db_set_timeout(quarantine->db, STATEMENT_TIMEOUT_MS);
    quarantine->keep = keep_new(quarantine->db);
    quarantine->config = config_ref(config);
    quarantine->release = release_new(quarantine->db, terms_new(config, NULL));
    quarantine->queue.rows_max = QUEUE_ROWS;
    quarantine->queue.bytes_max = QUEUE_BYTES;
    quarantine->cap = cap_new();
    pthread_mutex_init(&quarantine->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&quarantine->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&quarantine->thread, NULL, run, quarantine) != 0)
        abort();
    return quarantine;
}

void quarantine_configure(struct quarantine *quarantine, const struct config *config,
                          const struct accepted_secrets *accepted)
{
    struct terms *terms = terms_new(config, accepted), *old_terms;
    const struct config *old;

    pthread_mutex_lock(&quarantine->lock);
    old = quarantine->config;
    old_terms = quarantine->terms;
    quarantine->config = config_ref(config);
    quarantine->terms = terms;
    pthread_mutex_unlock(&quarantine->lock);
    config_unref(old);
    terms_free(old_terms);
}

void quarantine_free(struct quarantine *quarantine)
{
    if (!quarantine)
        return;
    pthread_mutex_lock(&quarantine->lock);
    quarantine->stopping = true;
    pthread_cond_signal(&quarantine->wake);
    pthread_mutex_unlock(&quarantine->lock);
    db_interrupt(quarantine->db);
    pthread_join(quarantine->thread, NULL);
    free_list(quarantine->queue.first);
    keep_free(quarantine->keep);
    release_free(quarantine->release);
    terms_free(quarantine->terms);
    db_free(quarantine->db);
    cap_free(quarantine->cap);
    config_unref(quarantine->config);
    for (size_t i = 0; i < quarantine->dropped_count; i++)
        free(quarantine->dropped[i].provider);
    free(quarantine->dropped);
    pthread_mutex_destroy(&quarantine->lock);
    pthread_cond_destroy(&quarantine->wake);
    free(quarantine);
}
