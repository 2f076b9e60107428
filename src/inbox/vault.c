/* One thread, one statement at a time: first what waits to be kept, then a look at what is
 * accepted. Both are rare and short. What comes home goes through one post to the loop at a time,
 * so that nothing of it is on its way when the vault is freed. */
#include "inbox/vault.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/seal.h"
#include "db/db.h"

#define WAITING_MAX 64
#define LOOK_US (2 * INT64_C(1000000)) /* between two looks at what is accepted */
#define LOG_INTERVAL_US (60 * INT64_C(1000000))
#define STATEMENT_TIMEOUT_MS 5000

struct vault {
    struct db *db;
    struct db_args *args;
    struct secret *key;
    struct loop *loop;
    void (*changed)(void *argument, struct accepted_secrets *secrets);
    void *argument;
    /* The thread's. */
    int64_t look_us, logged_us;
    int64_t *seen_ids; /* of the secrets that were reported last */
    size_t seen_count;
    bool seen;

    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct vault_item *waiting, **waiting_end;
    size_t waiting_count;
    struct vault_item *finished;
    struct accepted_secrets *news; /* not told yet; NULL: none */
    bool posted;                   /* deliver() is on its way */
    bool stopping, ended;          /* ended: whoever sees it frees the vault */
};

/* ---- what is accepted ---- */

void accepted_secrets_free(struct accepted_secrets *secrets)
{
    if (!secrets)
        return;
    for (size_t i = 0; i < secrets->count; i++)
        secret_unref(secrets->list[i].secret);
    arena_free(secrets->arena);
    free(secrets);
}

struct secret *accepted_secret(const struct accepted_secrets *secrets, struct str provider)
{
    for (size_t i = 0; secrets && i < secrets->count; i++)
        if (str_equal(secrets->list[i].provider, provider))
            return secrets->list[i].secret;
    return NULL;
}

/* ---- coming home ---- */

static void destroy(struct vault *vault)
{
    db_free(vault->db);
    db_args_free(vault->args);
    secret_unref(vault->key);
    accepted_secrets_free(vault->news);
    free(vault->seen_ids);
    pthread_mutex_destroy(&vault->lock);
    pthread_cond_destroy(&vault->wake);
    free(vault);
}

static void give_back(struct vault_item *items)
{
    while (items) {
        struct vault_item *item = items;

        items = item->next; /* done() may free it */
        item->done(item);
    }
}

/* On the loop's thread. */
static void deliver(void *argument)
{
    struct vault *vault = argument;
    struct accepted_secrets *news;
    struct vault_item *finished;
    bool ended;

    pthread_mutex_lock(&vault->lock);
    vault->posted = false;
    ended = vault->ended;
    finished = vault->finished;
    vault->finished = NULL;
    news = vault->news;
    vault->news = NULL;
    pthread_mutex_unlock(&vault->lock);
    give_back(finished);
    if (ended) {
        accepted_secrets_free(news);
        destroy(vault);
    } else if (news) {
        vault->changed(vault->argument, news);
    }
}

/* Under the lock. */
static void post(struct vault *vault)
{
    if (!vault->posted)
        loop_post(vault->loop, deliver, vault);
    vault->posted = true;
}

/* ---- the thread ---- */

static void log_failure(struct vault *vault, const struct err *err)
{
    if (log_may_repeat(&vault->logged_us, LOG_INTERVAL_US))
        log_event(LOG_WARN, "could not reach the captured secrets, trying again",
                  F_TEXT("why", err->text));
}

static enum vault_result result_of(struct str word)
{
    return str_is(word, "captured") ? VAULT_CAPTURED
           : str_is(word, "same")   ? VAULT_SAME
                                    : VAULT_TAKEN;
}

static int capture(struct vault *vault, struct vault_item *item, struct err *err)
{
    unsigned char fingerprint[SEAL_FINGERPRINT_SIZE];
    struct arena *arena = arena_new(1024);
    struct db_result *rows = NULL;
    int rc = db_connect(vault->db, err);

    seal_fingerprint(vault->key, item->provider, item->secret, fingerprint);
    db_args_clear(vault->args);
    db_args_text(vault->args, item->provider);
    db_args_bytea(vault->args, seal(vault->key, item->provider, item->secret, arena));
    db_args_bytea(vault->args, (struct str){(const char *)fingerprint, sizeof(fingerprint)});
    db_args_text(vault->args, item->source_ip);
    if (rc == 0)
        rc = db_run(vault->db, db_query("secret_capture"), vault->args, &rows, err);
    if (rc == 0)
        item->result = result_of(db_text(rows, 0, 0));
    db_result_free(rows);
    arena_free(arena);
    return rc;
}

static void keep(struct vault *vault, struct vault_item *item)
{
    struct err err = {0};

    item->result = VAULT_UNAVAILABLE;
    if (!__atomic_load_n(&item->abandoned, __ATOMIC_RELAXED) && capture(vault, item, &err) < 0)
        log_failure(vault, &err);
    pthread_mutex_lock(&vault->lock);
    vault->waiting_count--;
    item->next = vault->finished;
    vault->finished = item;
    post(vault);
    pthread_mutex_unlock(&vault->lock);
}

static bool is_news(const struct vault *vault, const struct db_result *rows)
{
    if (!vault->seen || (size_t)db_rows(rows) != vault->seen_count)
        return true;
    for (size_t i = 0; i < vault->seen_count; i++)
        if (vault->seen_ids[i] != db_int(rows, (int)i, 0))
            return true;
    return false;
}

static void remember(struct vault *vault, const struct db_result *rows)
{
    vault->seen = true;
    vault->seen_count = (size_t)db_rows(rows);
    vault->seen_ids =
        mem_resize(vault->seen_ids, (vault->seen_count + 1) * sizeof(*vault->seen_ids));
    for (size_t i = 0; i < vault->seen_count; i++)
        vault->seen_ids[i] = db_int(rows, (int)i, 0);
}

static struct accepted_secrets *open_all(const struct vault *vault, const struct db_result *rows)
{
    struct accepted_secrets *secrets = mem_alloc(sizeof(*secrets));
    int count = db_rows(rows);

    secrets->arena = arena_new(1024);
    secrets->list = arena_alloc(secrets->arena, ((size_t)count + 1) * sizeof(*secrets->list));
    for (int i = 0; i < count; i++) {
        struct str provider = db_text(rows, i, 1);
        struct secret *secret = seal_open(vault->key, provider, db_text(rows, i, 2));

        if (!secret)
            log_event(LOG_ERROR,
                      "cannot open an accepted secret with this capture_key; reject it and let the "
                      "provider begin its handshake anew",
                      F_STR("provider", provider), F_NUM("id", db_int(rows, i, 0)));
        else
            secrets->list[secrets->count++] =
                (struct accepted_secret){.id = db_int(rows, i, 0),
                                         .provider = arena_copy(secrets->arena, provider),
                                         .secret = secret};
    }
    return secrets;
}

static void look(struct vault *vault)
{
    struct db_result *rows = NULL;
    struct err err = {0};

    db_args_clear(vault->args);
    if (db_connect(vault->db, &err) < 0 ||
        db_run(vault->db, db_query("secrets_accepted"), vault->args, &rows, &err) < 0) {
        log_failure(vault, &err);
    } else if (is_news(vault, rows)) {
        struct accepted_secrets *secrets = open_all(vault, rows);

        remember(vault, rows);
        pthread_mutex_lock(&vault->lock);
        accepted_secrets_free(vault->news);
        vault->news = secrets;
        post(vault);
        pthread_mutex_unlock(&vault->lock);
    }
    db_result_free(rows);
    vault->look_us = clock_mono_us() + LOOK_US;
}

/* Sleeps until something is to do. False: stopping. *item: to keep, NULL: to look. */
static bool next_task(struct vault *vault, struct vault_item **item)
{
    bool stopping;

    pthread_mutex_lock(&vault->lock);
    while (!vault->stopping && !vault->waiting && vault->look_us > clock_mono_us()) {
        struct timespec until = {.tv_sec = vault->look_us / 1000000,
                                 .tv_nsec = vault->look_us % 1000000 * 1000};

        pthread_cond_timedwait(&vault->wake, &vault->lock, &until);
    }
    stopping = vault->stopping;
    *item = stopping ? NULL : vault->waiting;
    if (*item) {
        vault->waiting = (*item)->next;
        if (!vault->waiting)
            vault->waiting_end = &vault->waiting;
    }
    pthread_mutex_unlock(&vault->lock);
    return !stopping;
}

static void *run(void *argument)
{
    struct vault *vault = argument;
    struct vault_item *item;

    while (next_task(vault, &item)) {
        if (item)
            keep(vault, item);
        else
            look(vault);
    }
    return NULL;
}

/* ---- the face ---- */

struct vault *vault_new(const struct vault_options *options)
{
    struct vault *vault = mem_alloc(sizeof(*vault));
    pthread_condattr_t attributes;

    vault->db = db_new(&(struct db_options){.conninfo = options->conninfo,
                                            .application_name = "inboxd vault",
                                            .connect_timeout_ms = 2000,
                                            .settings = "SET lock_timeout = '2s'"});
    db_set_timeout(vault->db, STATEMENT_TIMEOUT_MS);
    vault->args = db_args_new();
    vault->key = secret_ref(options->key);
    vault->loop = options->loop;
    vault->changed = options->changed;
    vault->argument = options->argument;
    vault->waiting_end = &vault->waiting;
    pthread_mutex_init(&vault->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&vault->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&vault->thread, NULL, run, vault) != 0)
        abort();
    return vault;
}

bool vault_put(struct vault *vault, struct vault_item *item)
{
    bool room;

    pthread_mutex_lock(&vault->lock);
    room = vault->waiting_count < WAITING_MAX;
    if (room) {
        item->next = NULL;
        *vault->waiting_end = item;
        vault->waiting_end = &item->next;
        vault->waiting_count++;
        pthread_cond_signal(&vault->wake);
    }
    pthread_mutex_unlock(&vault->lock);
    return room;
}

void vault_free(struct vault *vault)
{
    bool posted;

    if (!vault)
        return;
    pthread_mutex_lock(&vault->lock);
    vault->stopping = true;
    pthread_cond_signal(&vault->wake);
    pthread_mutex_unlock(&vault->lock);
    db_interrupt(vault->db);
    pthread_join(vault->thread, NULL);
    for (struct vault_item *item = vault->waiting; item; item = item->next)
        item->result = VAULT_UNAVAILABLE;
    give_back(vault->finished);
    give_back(vault->waiting);
    vault->finished = vault->waiting = NULL;
    pthread_mutex_lock(&vault->lock);
    posted = vault->posted;
    vault->ended = true;
    pthread_mutex_unlock(&vault->lock);
    if (!posted)
        destroy(vault);
}
