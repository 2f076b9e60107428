/* The marked row is locked to the end of its transaction, on one connection; meanwhile its event is
 * stored and committed on another, by the same code that stores what comes in. Who dies in between
 * leaves the row marked, and the next one finds a duplicate. */
#include "quarantine/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "handshake/handshake.h"
#include "inbox/committer.h"
#include "provider/provider.h"
#include "quarantine/restore.h"

#define STORE_TIMEOUT_MS 5000
#define STORE_TICK_US 20000
/* From 2000, where PostgreSQL counts from, back to 1970. */
#define EPOCH_US (INT64_C(946684800) * 1000000)

struct release {
    struct db *db; /* borrowed */
    struct db_args *args;
    struct terms *terms;
    struct provider **providers;      /* of the terms' providers; NULL: not compiled yet */
    struct committer *committer;      /* NULL: no connection for storing */
    const struct provider_config *of; /* of the row at hand, as what follows */
    int64_t id, received_at;
    bool unverified;
    int64_t passed_over; /* a row that could not be stored: others have their turn */
};

/* How a release ended. */
struct verdict {
    const char *outcome; /* "stored", "duplicate" or "refused"; NULL: not now */
    char text[256];
    int64_t event; /* 0: none */
    bool forget;   /* the event has all that is kept */
};

/* ---- the connection for storing ---- */

static void note_changed(void *argument, bool up, const struct err *why)
{
    (void)argument;
    (void)up;
    (void)why;
}

/* Workers find the event by themselves. */
static void note_stored(void *argument, struct str provider, enum queue queue, int64_t run_at)
{
    (void)argument;
    (void)provider;
    (void)queue;
    (void)run_at;
}

/* `owner` of an item is the number of those that are not answered yet. */
static void note_answer(void *argument, struct store_item *list)
{
    (void)argument;
    for (; list; list = list->next)
        --*(size_t *)list->owner;
}

static struct committer *storing(struct release *release)
{
    if (!release->committer)
        release->committer = committer_new(
            &(struct committer_options){.conninfo = release->terms->config->database.ptr,
                                        .ack_timeout_ms = STORE_TIMEOUT_MS,
                                        .answer = note_answer,
                                        .stored = note_stored,
                                        .changed = note_changed,
                                        .argument = release});
    (void)committer_tend(release->committer); /* connects */
    return release->committer;
}

void release_rest(struct release *release)
{
    committer_free(release->committer);
    release->committer = NULL;
}

/* Stores them all or none and waits for the answer, which comes within about STORE_TIMEOUT_MS. */
static void store(struct release *release, struct store_group *group)
{
    struct committer *committer = storing(release);
    size_t left = group->count;

    for (size_t i = 0; i < group->count; i++) {
        group->items[i].owner = &left;
        group->items[i].group = group->count > 1 ? group : NULL;
        group->items[i].next = i + 1 < group->count ? &group->items[i + 1] : NULL;
    }
    committer_run(committer, group->items);
    while (left > 0) {
        const struct timespec tick = {.tv_nsec = STORE_TICK_US * 1000};

        nanosleep(&tick, NULL);
        (void)committer_tend(committer);
    }
}

/* ---- the provider ---- */

static void free_providers(struct release *release)
{
    for (size_t i = 0; release->providers && i < release->terms->config->provider_count; i++)
        provider_free(release->providers[i]);
    free(release->providers);
    release->providers = NULL;
}

/* The provider, compiled for this thread. */
static struct provider *provider_of(struct release *release)
{
    size_t index = (size_t)(release->of - release->terms->config->providers);
    struct mistakes *mistakes;

    if (!release->providers)
        release->providers =
            mem_alloc((release->terms->config->provider_count + 1) * sizeof(struct provider *));
    if (!release->providers[index]) {
        mistakes = mistakes_new(); /* there are none: the daemon's own copy compiled */
        release->providers[index] =
            provider_new_captured(release->of, release->terms->captured[index], mistakes);
        mistakes_free(mistakes);
    }
    return release->providers[index];
}

/* ---- judging ---- */

static void refuse(struct verdict *verdict, const char *why, int missing)
{
    verdict->outcome = "refused";
    snprintf(verdict->text, sizeof(verdict->text), "refused: %s%s", why,
             missing > 0 ? " (it showed a credential that is none of today's secrets)" : "");
}

/* Verifies without regard to the time. */
static enum refusal verify(const struct release *release, struct provider *provider,
                           const struct request *request, bool *verified)
{
    enum refusal refusal = provider_verify(provider, request, verified);

    if (refusal == REFUSAL_STALE_TIMESTAMP) {
        *verified = true;
        return REFUSAL_NONE;
    }
    if (refusal != REFUSAL_NONE)
        *verified = false;
    return release->unverified ? REFUSAL_NONE : refusal;
}

/* Whether today's configuration would answer it as a handshake. */
static bool is_handshake(const struct provider *provider, const struct request *request,
                         struct arena *arena)
{
    const struct handshakes *handshakes = provider_handshakes(provider);
    struct handshake_reply reply;

    return handshakes_answer(handshakes, HANDSHAKE_BEFORE_VERIFY, request, STR_NONE, arena,
                             &reply) ||
           handshakes_answer(handshakes, HANDSHAKE_AFTER_VERIFY, request,
                             provider_matched(provider), arena, &reply);
}

/* A duplicate: of which event, and whether it has the same bytes. */
static int find_first(struct release *release, const struct event *event, struct verdict *verdict,
                      struct err *err)
{
    static const char sql[] = "select l.id, l.body_sha256 = $3 from inboxd.ledger l"
                              " where l.provider = $1 and l.event_id = $2";
    struct db_result *row = NULL;

    db_args_clear(release->args);
    db_args_text(release->args, event->provider);
    db_args_text(release->args, event->id);
    db_args_bytea(release->args, (struct str){(const char *)event->body_sha256, EVENT_SHA256_SIZE});
    if (db_run_text(release->db, sql, release->args, &row, err) < 0)
        return -1;
    if (db_rows(row) == 0) { /* purged at this moment */
        db_result_free(row);
        return err_set(err, ERR_AGAIN, "the event that it is a duplicate of has just gone");
    }
    verdict->outcome = "duplicate";
    verdict->event = db_int(row, 0, 0);
    verdict->forget = db_bool(row, 0, 1);
    snprintf(verdict->text, sizeof(verdict->text), "duplicate of event %lld%s",
             (long long)verdict->event, verdict->forget ? "" : ", which has other bytes");
    db_result_free(row);
    return 0;
}

/* Several events of one request. */
static void sum_up(const struct store_group *group, struct verdict *verdict)
{
    size_t stored = 0;

    for (size_t i = group->count; i-- > 0;) {
        if (group->items[i].result != STORE_STORED)
            continue;
        verdict->event = group->items[i].id;
        stored++;
    }
    verdict->outcome = stored > 0 ? "stored" : "duplicate";
    if (stored == group->count)
        snprintf(verdict->text, sizeof(verdict->text), "stored all %zu events, the first is %lld",
                 stored, (long long)verdict->event);
    else if (stored > 0)
        snprintf(verdict->text, sizeof(verdict->text),
                 "stored %zu of %zu events, the first is %lld; the others were duplicates", stored,
                 group->count, (long long)verdict->event);
    else
        snprintf(verdict->text, sizeof(verdict->text), "all %zu events were duplicates",
                 group->count);
}

static int store_events(struct release *release, const struct provider_events *events,
                        struct arena *arena, struct verdict *verdict, struct err *err)
{
    struct store_group group = {
        .items = arena_alloc(arena, (events->count + 1) * sizeof(struct store_item)),
        .count = events->count};

    for (size_t i = 0; i < events->count; i++) {
        group.items[i].event = events->list[i];
        group.items[i].event.received_at = release->received_at;
    }
    store(release, &group);
    for (size_t i = 0; i < group.count; i++)
        if (group.items[i].result == STORE_UNAVAILABLE)
            return err_set(err, ERR_AGAIN, "could not store event");
    if (group.count > 1) {
        sum_up(&group, verdict);
        return 0;
    }
    if (group.items[0].result == STORE_DUPLICATE)
        return find_first(release, &events->list[0], verdict, err);
    verdict->outcome = "stored";
    verdict->event = group.items[0].id;
    verdict->forget = true;
    snprintf(verdict->text, sizeof(verdict->text), "stored as event %lld",
             (long long)verdict->event);
    return 0;
}

static int judge(struct release *release, const struct request *request, int missing,
                 struct arena *arena, struct verdict *verdict, struct err *err)
{
    struct provider *provider = provider_of(release);
    struct provider_events events;
    bool verified = false;
    enum refusal refusal;

    if (!provider)
        return err_set(err, ERR_NEVER, "the provider's section has mistakes");
    refusal = verify(release, provider, request, &verified);
    if (refusal != REFUSAL_NONE) {
        refuse(verdict, refusal_info(refusal)->text, missing);
        return 0;
    }
    if (is_handshake(provider, request, arena)) {
        refuse(verdict, "it is a handshake, which is answered and never stored", 0);
        return 0;
    }
    refusal = provider_parse(provider, request, verified, arena, &events);
    if (refusal != REFUSAL_NONE) {
        refuse(verdict, refusal_info(refusal)->text, 0);
        return 0;
    }
    if (events.count == 0) {
        refuse(verdict, "there is no event in it", 0);
        return 0;
    }
    return store_events(release, &events, arena, verdict, err);
}

/* ---- one row ---- */

static struct str optional(const struct db_result *row, int column)
{
    return db_is_null(row, 0, column) ? STR_NONE : db_text(row, 0, column);
}

/* 0: *row is what was taken, or has no row. */
static int take(struct release *release, struct db_result **row, struct err *err)
{
    const struct config *config = release->terms->config;

    db_args_clear(release->args);
    db_args_array_begin(release->args, DB_TEXT);
    for (size_t i = 0; i < config->provider_count; i++)
        db_args_element(release->args, config->providers[i].name);
    db_args_array_end(release->args);
    db_args_int8(release->args, release->passed_over);
    return db_run(release->db, db_query("quarantine_take"), release->args, row, err);
}

static int settle(struct release *release, const struct verdict *verdict, struct err *err)
{
    struct db_args *args = release->args;

    db_args_clear(args);
    db_args_int8(args, release->id);
    db_args_text(args, str_from(verdict->outcome));
    db_args_text(args, str_from(verdict->text));
    if (verdict->event)
        db_args_int8(args, verdict->event);
    else
        db_args_null(args, DB_INT8);
    db_args_bool(args, verdict->forget);
    return db_run(release->db, db_query("quarantine_settle"), args, NULL, err);
}

/* Judges the row's request, whose head has credentials in it for as long as that takes. */
static int judge_row(struct release *release, const struct db_result *row, struct verdict *verdict,
                     struct err *err)
{
    const struct kept_request kept = {.source_ip = optional(row, 3),
                                      .head = optional(row, 4),
                                      .salt = optional(row, 5),
                                      .concealed = optional(row, 6),
                                      .body = optional(row, 7)};
    struct arena *arena = arena_new(4096);
    struct request request = {0};
    struct buf text;
    int missing, rc = 0;

    buf_init(&text, BUF_NO_CAP);
    missing = restore_request(&kept, release->of, &text, arena, &request);
    request.received_us = release->received_at + EPOCH_US;
    if (missing < 0)
        refuse(verdict, "its request line and headers are not kept", 0);
    else
        rc = judge(release, &request, missing, arena, verdict, err);
    if (text.data)
        secret_wipe(text.data, text.size);
    buf_release(&text);
    arena_free(arena);
    return rc;
}

static int step_in_transaction(struct release *release, struct err *err)
{
    struct verdict verdict = {0};
    struct db_result *row = NULL;
    int rc = take(release, &row, err);

    if (rc < 0 || db_rows(row) == 0) {
        release->passed_over = 0;
        db_result_free(row);
        return rc;
    }
    release->id = db_int(row, 0, 0);
    release->of = config_provider(release->terms->config, db_text(row, 0, 1));
    release->received_at = db_time(row, 0, 2);
    release->unverified = db_bool(row, 0, 8);
    rc = judge_row(release, row, &verdict, err);
    if (rc == 0 && fault("quarantine.before_settle"))
        rc = err_set(err, ERR_AGAIN, "did not settle it on purpose");
    if (rc == 0)
        rc = settle(release, &verdict, err);
    if (rc == 0)
        log_event(LOG_INFO, "released from the quarantine", F_STR("provider", release->of->name),
                  F_NUM("id", release->id), F_TEXT("result", verdict.text));
    if (rc < 0)
        release->passed_over = release->id;
    db_result_free(row);
    return rc < 0 ? -1 : 1;
}

int release_step(struct release *release, struct err *err)
{
    struct db *db = release->db;
    int rc;

    if (db_exec(db, "BEGIN", err) < 0)
        return -1;
    rc = step_in_transaction(release, err);
    if (rc >= 0 && db_exec(db, "COMMIT", err) == 0)
        return rc;
    if (db_connected(db) && db_in_transaction(db) && db_exec(db, "ROLLBACK", NULL) < 0)
        db_disconnect(db);
    return -1;
}

/* ---- the face ---- */

struct release *release_new(struct db *db, struct terms *terms)
{
    struct release *release = mem_alloc(sizeof(*release));

    release->db = db;
    release->args = db_args_new();
    release->terms = terms;
    return release;
}

void release_free(struct release *release)
{
    if (!release)
        return;
    free_providers(release);
    committer_free(release->committer);
    db_args_free(release->args);
    terms_free(release->terms);
    free(release);
}

void release_configure(struct release *release, struct terms *terms)
{
    free_providers(release);
    terms_free(release->terms);
    release->terms = terms;
}
