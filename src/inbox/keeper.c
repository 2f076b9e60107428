/* One thread that does its chores in turn: a table says what and how often. A chore is one small
 * step; one that has more to do comes again after a pause, so that ingest and workers get the
 * database in between. A failed chore waits a little and is done again; the others go on. */
#include "inbox/keeper.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"

#define SECOND_US ((int64_t)1000 * 1000)
#define STEP_PAUSE_US (50 * 1000) /* between the steps of one purge */
#define RETRY_US (2 * SECOND_US)
#define PARTITIONS_AHEAD 2
#define STATEMENT_TIMEOUT_MS 60000
#define FAREWELL_TIMEOUT_MS 1000
#define LOG_INTERVAL_US (60 * SECOND_US)

static const char session_settings[] =
    "SET lock_timeout = '100ms'; SET statement_timeout = '50s'; SET enable_seqscan = off;"
    "SET idle_in_transaction_session_timeout = '1min'";

/* Each returns -1, or whether there is more to do at once (1) or not (0). */
static int make_partitions(struct keeper *keeper, struct err *err);
static int say_alive(struct keeper *keeper, struct err *err);
static int write_refusals(struct keeper *keeper, struct err *err);
static int write_secret_uses(struct keeper *keeper, struct err *err);
static int write_confirmations(struct keeper *keeper, struct err *err);
static int write_policies(struct keeper *keeper, struct err *err);
static int fold_counters(struct keeper *keeper, struct err *err);
static int drop_partition(struct keeper *keeper, struct err *err);
static int purge_done(struct keeper *keeper, struct err *err);
static int purge_dead(struct keeper *keeper, struct err *err);
static int purge_attempts(struct keeper *keeper, struct err *err);
static int purge_ids(struct keeper *keeper, struct err *err);
static int purge_quarantine(struct keeper *keeper, struct err *err);
static int purge_audit(struct keeper *keeper, struct err *err);

enum {
    MAKE,
    ALIVE,
    COUNT,
    SECRETS,
    FOLD,
    DROP,
    DONE,
    DEAD,
    ATTEMPTS,
    IDS,
    QUARANTINE,
    AUDIT,
    CONFIRM,
    POLICIES,
    CHORES
};

static const struct {
    const char *name;
    int (*step)(struct keeper *keeper, struct err *err);
    int64_t every_us;
} chores[CHORES] = {
    [MAKE] = {"make partitions", make_partitions, 30 * SECOND_US},
    [ALIVE] = {"renew the daemon's row", say_alive, 10 * SECOND_US},
    [COUNT] = {"write counts of refused requests", write_refusals, 5 * SECOND_US},
    [POLICIES] = {"write what providers run with", write_policies, 10 * SECOND_US},
    [CONFIRM] = {"write confirmations", write_confirmations, 5 * SECOND_US},
    [SECRETS] = {"write uses of secrets", write_secret_uses, 5 * SECOND_US},
    [FOLD] = {"fold counters", fold_counters, 60 * SECOND_US},
    [DROP] = {"drop old partitions", drop_partition, 60 * SECOND_US},
    [DONE] = {"purge finished events", purge_done, 60 * SECOND_US},
    [DEAD] = {"give old dead events up", purge_dead, 60 * SECOND_US},
    [ATTEMPTS] = {"purge old attempts", purge_attempts, 60 * SECOND_US},
    [IDS] = {"purge old identities", purge_ids, 60 * SECOND_US},
    [QUARANTINE] = {"purge the quarantine", purge_quarantine, 60 * SECOND_US},
    [AUDIT] = {"purge the audit", purge_audit, 60 * SECOND_US},
};

struct keeper {
    struct db *db;
    struct db_args *args;
    struct secret_uses *secret_uses;
    struct confirmations *confirmations;
    struct refusal_counts *refusals;
    struct policies *policies;
    char *host, *instance; /* instance: of this process, once */
    int64_t due_us[CHORES], logged_us[CHORES];
    struct retention retention;

    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    bool stopping, reconfigured;
    int workers;
    const atomic_int *hung;
    struct arena *arena; /* of providers */
    struct str *providers;
    size_t provider_count;
    struct retain retain;
};

/* ---- chores ---- */

static int make_partitions(struct keeper *keeper, struct err *err)
{
    db_args_clear(keeper->args);
    db_args_int4(keeper->args, PARTITIONS_AHEAD);
    return db_run_text(keeper->db, "select inboxd.make_partitions($1)", keeper->args, NULL, err);
}

static int say_alive(struct keeper *keeper, struct err *err)
{
    struct db_args *args = keeper->args;

    db_args_clear(args);
    db_args_text(args, str_from(keeper->instance));
    db_args_text(args, str_from(keeper->host));
    db_args_int4(args, (int32_t)getpid());
    db_args_text(args, STR(INBOXD_VERSION));
    pthread_mutex_lock(&keeper->lock);
    db_args_int4(args, keeper->workers);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < keeper->provider_count; i++)
        db_args_element(args, keeper->providers[i]);
    db_args_array_end(args);
    db_args_int4(args, atomic_load(keeper->hung));
    pthread_mutex_unlock(&keeper->lock);
    return db_run(keeper->db, db_query("daemon_seen"), args, NULL, err);
}

static int write_refusals(struct keeper *keeper, struct err *err)
{
    return refusal_counts_write(keeper->refusals, keeper->db, keeper->args, err);
}

static int write_confirmations(struct keeper *keeper, struct err *err)
{
    return confirmations_write(keeper->confirmations, keeper->db, keeper->args, err);
}

static int write_policies(struct keeper *keeper, struct err *err)
{
    return policies_write(keeper->policies, keeper->db, keeper->args, err);
}

static int write_secret_uses(struct keeper *keeper, struct err *err)
{
    return secret_uses_write(keeper->secret_uses, keeper->db, keeper->args, err);
}

static int fold_counters(struct keeper *keeper, struct err *err)
{
    return db_run_text(keeper->db, "select inboxd.fold_counters()", NULL, NULL, err);
}

static struct retain get_retain(struct keeper *keeper)
{
    struct retain retain;

    pthread_mutex_lock(&keeper->lock);
    retain = keeper->retain;
    pthread_mutex_unlock(&keeper->lock);
    return retain;
}

static int drop_partition(struct keeper *keeper, struct err *err)
{
    struct db_result *result = NULL;
    int more;

    db_args_clear(keeper->args);
    db_args_float8(keeper->args, (double)get_retain(keeper).ms[PURGE_DONE] / 1000);
    if (db_run_text(keeper->db,
                    "select partition, kept from inboxd.drop_partitions(make_interval(secs => $1))",
                    keeper->args, &result, err) < 0)
        return -1;
    more = db_rows(result) > 0;
    if (more)
        log_event(LOG_INFO, "dropped a partition of old events",
                  F_STR("partition", db_text(result, 0, 0)),
                  F_NUM("kept_events", db_int(result, 0, 1)));
    db_result_free(result);
    return more;
}

static int purge(struct keeper *keeper, enum purge purge, struct err *err)
{
    struct retain retain = get_retain(keeper);

    return retention_step(&keeper->retention, purge, &retain, keeper->db, keeper->args, err);
}

static int purge_done(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_DONE, err);
}

static int purge_dead(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_DEAD, err);
}

static int purge_attempts(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_ATTEMPTS, err);
}

static int purge_ids(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_IDS, err);
}

static int purge_quarantine(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_QUARANTINE, err);
}

static int purge_audit(struct keeper *keeper, struct err *err)
{
    return purge(keeper, PURGE_AUDIT, err);
}

/* ---- the thread ---- */

static void log_failure(struct keeper *keeper, int chore, const struct err *err)
{
    if (log_may_repeat(&keeper->logged_us[chore], LOG_INTERVAL_US))
        log_event(LOG_WARN, "housekeeping failed, trying again",
                  F_TEXT("chore", chores[chore].name), F_TEXT("why", err->text));
}

static bool is_stopping(struct keeper *keeper)
{
    bool stopping;

    pthread_mutex_lock(&keeper->lock);
    stopping = keeper->stopping;
    pthread_mutex_unlock(&keeper->lock);
    return stopping;
}

static void do_chore(struct keeper *keeper, int chore)
{
    struct err err = {0};
    int rc = db_connect(keeper->db, &err);

    if (rc == 0)
        rc = chores[chore].step(keeper, &err);
    if (rc < 0 && !is_stopping(keeper)) /* else the interrupt has ended it */
        log_failure(keeper, chore, &err);
    keeper->due_us[chore] = clock_mono_us() + (rc < 0   ? RETRY_US
                                               : rc > 0 ? STEP_PAUSE_US
                                                        : chores[chore].every_us);
}

static int first_due(const struct keeper *keeper)
{
    int first = 0;

    for (int i = 1; i < CHORES; i++)
        if (keeper->due_us[i] < keeper->due_us[first])
            first = i;
    return first;
}

/* Sleeps until a chore is due. Returns it, or -1: stopping. */
static int next_chore(struct keeper *keeper)
{
    int chore;

    pthread_mutex_lock(&keeper->lock);
    for (;;) {
        struct timespec until;

        if (keeper->reconfigured)
            keeper->due_us[ALIVE] = keeper->due_us[POLICIES] = 0;
        keeper->reconfigured = false;
        chore = keeper->stopping ? -1 : first_due(keeper);
        if (chore < 0 || keeper->due_us[chore] <= clock_mono_us())
            break;
        until.tv_sec = keeper->due_us[chore] / SECOND_US;
        until.tv_nsec = keeper->due_us[chore] % SECOND_US * 1000;
        pthread_cond_timedwait(&keeper->wake, &keeper->lock, &until);
    }
    pthread_mutex_unlock(&keeper->lock);
    return chore;
}

/* The last things, unless the database is gone. The interrupt that ended the last chore may hit the
 * first of them. */
static void say_goodbye(struct keeper *keeper)
{
    db_set_timeout(keeper->db, FAREWELL_TIMEOUT_MS);
    for (int tries = 0; tries < 2 && db_connected(keeper->db); tries++) {
        if (write_refusals(keeper, NULL) < 0 || write_secret_uses(keeper, NULL) < 0 ||
            write_confirmations(keeper, NULL) < 0)
            continue;
        db_args_clear(keeper->args);
        db_args_text(keeper->args, str_from(keeper->instance));
        if (db_run(keeper->db, db_query("daemon_gone"), keeper->args, NULL, NULL) == 0)
            break;
    }
}

static void *run(void *argument)
{
    struct keeper *keeper = argument;
    int chore;

    while ((chore = next_chore(keeper)) >= 0)
        do_chore(keeper, chore);
    say_goodbye(keeper);
    return NULL;
}

/* ---- the face ---- */

/* Under the lock, or before the thread runs. */
static void configure(struct keeper *keeper, const struct keeper_options *options)
{
    arena_free(keeper->arena);
    keeper->arena = arena_new(1024);
    keeper->provider_count = options->provider_count;
    keeper->providers =
        arena_alloc(keeper->arena, (options->provider_count + 1) * sizeof(*keeper->providers));
    for (size_t i = 0; i < options->provider_count; i++)
        keeper->providers[i] = arena_copy(keeper->arena, options->providers[i].provider);
    policies_configure(keeper->policies, options->providers, options->provider_count);
    keeper->workers = options->workers;
    keeper->hung = options->hung;
    keeper->retain = options->retain;
}

static void name_instance(struct keeper *keeper)
{
    char host[256] = "";
    uint64_t random = 0;

    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    if (getrandom(&random, sizeof(random), 0) < 0)
        random = (uint64_t)clock_wall_us();
    keeper->host = mem_printf("%s", host);
    keeper->instance = mem_printf("%s:%d:%016llx", host, (int)getpid(), (unsigned long long)random);
}

struct keeper *keeper_new(const struct keeper_options *options)
{
    struct keeper *keeper = mem_alloc(sizeof(*keeper));
    pthread_condattr_t attributes;

    keeper->db = db_new(&(struct db_options){.conninfo = options->conninfo,
                                             .application_name = "inboxd keeper",
                                             .connect_timeout_ms = 2000,
                                             .settings = session_settings});
    db_set_timeout(keeper->db, STATEMENT_TIMEOUT_MS);
    keeper->args = db_args_new();
    keeper->secret_uses = secret_uses_new();
    keeper->confirmations = confirmations_new();
    keeper->refusals = refusal_counts_new();
    keeper->policies = policies_new();
    name_instance(keeper);
    configure(keeper, options);
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&keeper->thread, NULL, run, keeper) != 0)
        abort();
    return keeper;
}

void keeper_configure(struct keeper *keeper, const struct keeper_options *options)
{
    pthread_mutex_lock(&keeper->lock);
    configure(keeper, options);
    keeper->reconfigured = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->lock);
}

struct refusal_counts *keeper_refusal_counts(struct keeper *keeper)
{
    return keeper->refusals;
}

struct confirmations *keeper_confirmations(struct keeper *keeper)
{
    return keeper->confirmations;
}

struct secret_uses *keeper_secret_uses(struct keeper *keeper)
{
    return keeper->secret_uses;
}

void keeper_free(struct keeper *keeper)
{
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->stopping = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->lock);
    db_interrupt(keeper->db);
    pthread_join(keeper->thread, NULL);
    db_free(keeper->db);
    db_args_free(keeper->args);
    secret_uses_free(keeper->secret_uses);
    confirmations_free(keeper->confirmations);
    refusal_counts_free(keeper->refusals);
    policies_free(keeper->policies);
    arena_free(keeper->arena);
    free(keeper->host);
    free(keeper->instance);
    pthread_mutex_destroy(&keeper->lock);
    pthread_cond_destroy(&keeper->wake);
    free(keeper);
}
