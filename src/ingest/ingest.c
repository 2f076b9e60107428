/* The accepting path. head() checks what a header can tell, in the contract's order; body() lets
 * the provider verify and read, hands the event to the writer and parks the request; the answer
 * comes when the writer is done, or by the sweep when `ack_timeout` has passed. What must hold: 200
 * only for what was committed; storing trouble is 503, never 4xx; whatever a store thread may still
 * read is held until it gives it back, also when the answer has long gone. */
#include "ingest/ingest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "ingest/path.h"
#include "ingest/sender.h"
#include "ingest/uses.h"
#include "provider/encoding.h"

#define SWEEP_MS 50
#define REFUSALS_SWEEP_MS 10000
#define USES_SWEEP_MS 2000

/* One request for a provider, in the request's arena. */
struct intake {
    struct store_group group; /* its events, as the writer sees them */
    size_t unanswered;        /* of those */
    bool split;
    struct http_request *request;
    struct request view;           /* the same as providers see it */
    struct vault_item capture;     /* of a handshake that hands a secret over */
    struct handshake_reply *reply; /* its answer, once the secret is kept */
    struct ingest *ingest;
    struct snapshot *snapshot; /* a reference */
    size_t provider;           /* index */
    int64_t deadline_us;       /* on the clock of clock_mono_us() */
    bool listed;
    struct intake *prev, *next; /* parked ones, oldest first */
};

struct ingest {
    struct loop *loop;
    struct snapshot *snapshot;
    struct writer *writer;
    struct keeper *keeper;
    struct quarantine *quarantine;
    struct vault *vault;
    struct http_answer *refusals[REFUSAL_COUNT];
    struct http_answer *stored, *duplicate;
    struct intake *first, *last; /* parked */
    struct loop_timer *sweep, *refusals_sweep, *uses_sweep;
    struct ingest_counts counts;
};

/* ---- refusing ---- */

/* `intake`: NULL where no provider was found. */
static void note_refusal(struct ingest *ingest, const struct intake *intake, enum refusal refusal,
                         struct str source_ip)
{
    struct snapshot *snapshot = intake ? intake->snapshot : ingest->snapshot;

    if (refusal == REFUSAL_TRY_AGAIN)
        ingest->counts.unavailable++;
    else
        ingest->counts.refused++;
    if (intake && ingest->keeper && refusal != REFUSAL_TRY_AGAIN)
        keeper_count_refused(ingest->keeper, snapshot->config->providers[intake->provider].name, 1);
    refusals_note(snapshot->refusals, intake ? (ptrdiff_t)intake->provider : -1, refusal,
                  source_ip);
}

static void refuse_unknown(struct ingest *ingest, struct http_request *request,
                           enum refusal refusal)
{
    note_refusal(ingest, NULL, refusal, request->source_ip);
    http_request_answer(request, ingest->refusals[refusal]);
}

static const struct handshakes *handshakes_of(const struct intake *intake)
{
    return provider_handshakes(intake->snapshot->providers[intake->provider]);
}

/* Says which methods this provider takes. */
static struct http_answer *make_method_not_allowed(const struct intake *intake)
{
    const struct refusal_info *info = refusal_info(REFUSAL_METHOD_NOT_ALLOWED);

    return http_answer_new(
        &(struct http_answer_spec){.status = info->status,
                                   .text = info->text,
                                   .result = info->result,
                                   .allow = handshakes_allow(handshakes_of(intake))});
}

static void refuse(struct intake *intake, enum refusal refusal)
{
    note_refusal(intake->ingest, intake, refusal, intake->request->source_ip);
    if (refusal == REFUSAL_METHOD_NOT_ALLOWED)
        http_request_answer_once(intake->request, make_method_not_allowed(intake));
    else
        http_request_answer(intake->request, intake->ingest->refusals[refusal]);
}

/* Says which of several events is meant. */
static void refuse_element(struct intake *intake, enum refusal refusal, size_t element)
{
    const struct refusal_info *info = refusal_info(refusal);

    note_refusal(intake->ingest, intake, refusal, intake->request->source_ip);
    http_request_answer_once(
        intake->request,
        http_answer_new(&(struct http_answer_spec){
            .status = info->status,
            .text = arena_printf(intake->request->arena, "%s in element %zu", info->text, element),
            .result = info->result}));
}

/* ---- the header ---- */

static void view_request(const struct http_request *from, struct str query, struct request *to)
{
    struct header *headers =
        arena_alloc(from->arena, (from->header_count + 1) * sizeof(struct header));

    for (size_t i = 0; i < from->header_count; i++)
        headers[i] = (struct header){from->headers[i].name, from->headers[i].value};
    *to = (struct request){.method = from->method,
                           .target = from->target,
                           .query = query,
                           .headers = headers,
                           .header_count = from->header_count,
                           .source_ip = from->source_ip,
                           .received_us = from->received_us};
}

/* Refuses what comes too fast, and says when it may come again. */
static bool is_over_rate(struct intake *intake)
{
    const struct refusal_info *info = refusal_info(REFUSAL_RATE_LIMIT);
    int64_t wait_s = rates_take(intake->snapshot->rates, intake->provider, intake->view.source_ip,
                                clock_mono_us());
    char text[24];

    if (wait_s == 0)
        return false;
    snprintf(text, sizeof(text), "%lld", (long long)wait_s);
    note_refusal(intake->ingest, intake, REFUSAL_RATE_LIMIT, intake->view.source_ip);
    http_request_answer_once(intake->request,
                             http_answer_new(&(struct http_answer_spec){.status = info->status,
                                                                        .text = info->text,
                                                                        .result = info->result,
                                                                        .retry_after = text}));
    return true;
}

static void on_head(void *argument, struct http_request *request)
{
    struct ingest *ingest = argument;
    const struct config *config = ingest->snapshot->config;
    struct path path = path_read(request->target);
    struct intake *intake;
    ptrdiff_t provider;
    bool allowed;

    if (!path.provider.ptr) {
        refuse_unknown(ingest, request, REFUSAL_NOT_FOUND);
        return;
    }
    provider = snapshot_find(ingest->snapshot, path.provider);
    if (provider < 0) {
        refuse_unknown(ingest, request, REFUSAL_UNKNOWN_PROVIDER);
        return;
    }
    intake = arena_alloc(request->arena, sizeof(*intake));
    intake->request = request;
    intake->ingest = ingest;
    intake->snapshot = snapshot_ref(ingest->snapshot);
    intake->provider = (size_t)provider;
    request->owner = intake;
    view_request(request, path.query, &intake->view);
    allowed = sender_find(config, &config->providers[provider], &intake->view, request->arena);
    request->source_ip = intake->view.source_ip;
    if (!handshakes_take(handshakes_of(intake), request->method)) {
        refuse(intake, REFUSAL_METHOD_NOT_ALLOWED);
        return;
    }
    if (!allowed) {
        refuse(intake, REFUSAL_ADDRESS_NOT_ALLOWED);
        return;
    }
    if (is_over_rate(intake))
        return;
    http_request_limit(request, (size_t)config->providers[provider].max_body);
    if (encoding_of(&intake->view) == ENCODING_UNKNOWN)
        refuse(intake, REFUSAL_UNSUPPORTED_ENCODING);
}

/* ---- the body ---- */

static void unlist(struct intake *intake)
{
    struct ingest *ingest = intake->ingest;

    if (!intake->listed)
        return;
    *(intake->prev ? &intake->prev->next : &ingest->first) = intake->next;
    *(intake->next ? &intake->next->prev : &ingest->last) = intake->prev;
    intake->listed = false;
}

/* How many of a request's events had that result. */
static size_t count_results(const struct intake *intake, enum store_result result)
{
    size_t count = 0;

    for (size_t i = 0; i < intake->group.count; i++)
        count += intake->group.items[i].result == result;
    return count;
}

/* "ok 2 dup 1"; what is none is left out. */
static struct http_answer *make_counts(const struct intake *intake, size_t stored, size_t duplicate)
{
    struct arena *arena = intake->request->arena;
    const char *text = stored > 0 && duplicate > 0
                           ? arena_printf(arena, "ok %zu dup %zu", stored, duplicate)
                       : duplicate > 0 ? arena_printf(arena, "dup %zu", duplicate)
                                       : arena_printf(arena, "ok %zu", stored);

    return http_answer_new(&(struct http_answer_spec){
        .status = 200,
        .text = text,
        .result = stored == 0 && duplicate > 0 ? "duplicate" : "stored"});
}

/* All events of the request are committed. */
static void answer_committed(struct intake *intake)
{
    struct ingest *ingest = intake->ingest;
    const struct replies *replies = &intake->snapshot->replies[intake->provider];
    size_t stored = count_results(intake, STORE_STORED);
    size_t duplicate = count_results(intake, STORE_DUPLICATE);
    bool new = stored > 0 || duplicate == 0;

    ingest->counts.stored += (int64_t)stored;
    ingest->counts.duplicate += (int64_t)duplicate;
    if (replies->stored)
        http_request_answer(intake->request, new ? replies->stored : replies->duplicate);
    else if (intake->split)
        http_request_answer_once(intake->request, make_counts(intake, stored, duplicate));
    else
        http_request_answer(intake->request, new ? ingest->stored : ingest->duplicate);
}

/* The writer gives an event back. */
static void on_done(struct store_item *item)
{
    struct intake *intake = item->owner;

    if (--intake->unanswered > 0)
        return;
    if (intake->listed) { /* else the sweep has answered */
        unlist(intake);
        if (count_results(intake, STORE_UNAVAILABLE) > 0)
            refuse(intake, REFUSAL_TRY_AGAIN);
        else
            answer_committed(intake);
    }
    http_request_drop(intake->request);
}

/* Answers requests that have waited too long for the database. The store thread may still have
 * them: if it commits later, the sender's retry is a duplicate. Each provider has its own deadline,
 * so all that are parked are looked at; `queue_max` bounds them. */
static void on_sweep(void *argument)
{
    struct ingest *ingest = argument;
    int64_t now = clock_mono_us();

    for (struct intake *intake = ingest->first, *next; intake; intake = next) {
        next = intake->next;
        if (intake->deadline_us > now)
            continue;
        __atomic_store_n(&intake->group.abandoned, true, __ATOMIC_RELAXED);
        __atomic_store_n(&intake->capture.abandoned, true, __ATOMIC_RELAXED);
        unlist(intake);
        refuse(intake, REFUSAL_TRY_AGAIN);
    }
}

static void answer_handshake(struct intake *intake, const struct handshake_reply *reply)
{
    struct str provider = intake->snapshot->config->providers[intake->provider].name;
    struct http_header headers[HANDSHAKE_HEADERS_MAX];

    for (size_t i = 0; i < reply->header_count; i++)
        headers[i] = (struct http_header){reply->headers[i].name, reply->headers[i].value};
    intake->ingest->counts.handshakes++;
    if (reply->visit.ptr && intake->ingest->keeper)
        confirmations_add(keeper_confirmations(intake->ingest->keeper), provider, reply->visit,
                          intake->request->source_ip);
    if (reply->visit.ptr)
        log_event(LOG_WARN, "open this address to confirm the subscription, if it is yours",
                  F_STR("provider", provider), F_STR("address", reply->visit));
    http_request_answer_once(intake->request, http_answer_new(&(struct http_answer_spec){
                                                  .status = reply->status,
                                                  .body = reply->body,
                                                  .content_type = reply->content_type,
                                                  .result = "handshake",
                                                  .headers = headers,
                                                  .header_count = reply->header_count}));
}

/* Waits for another thread: the request is held until that gives it back, and answered by the
 * sweep where that takes too long. */
static void park(struct intake *intake)
{
    struct ingest *ingest = intake->ingest;

    http_request_hold(intake->request);
    intake->deadline_us =
        clock_mono_us() +
        intake->snapshot->config->providers[intake->provider].ack_timeout_ms * 1000;
    intake->listed = true;
    intake->next = NULL;
    intake->prev = ingest->last;
    *(ingest->last ? &ingest->last->next : &ingest->first) = intake;
    ingest->last = intake;
}

/* The vault gives the secret back. */
static void on_captured(struct vault_item *item)
{
    struct intake *intake = item->owner;

    if (item->result == VAULT_CAPTURED)
        log_event(LOG_WARN,
                  "a handshake has handed a secret over, which verifies nothing until a person "
                  "accepts it: inboxctl secrets list",
                  F_STR("provider", item->provider), F_STR("source_ip", item->source_ip));
    if (intake->listed) { /* else the sweep has answered */
        unlist(intake);
        switch (item->result) {
        case VAULT_CAPTURED:
        case VAULT_SAME:
            answer_handshake(intake, intake->reply);
            break;
        case VAULT_TAKEN:
            refuse(intake, REFUSAL_SECRET_NOT_EXPECTED);
            break;
        case VAULT_UNAVAILABLE:
            refuse(intake, REFUSAL_TRY_AGAIN);
            break;
        }
    }
    http_request_drop(intake->request);
}

/* The answer to a handshake that hands a secret over leaves once that is kept; only while the
 * provider has none. */
static void capture_secret(struct intake *intake, const struct handshake_reply *reply)
{
    const struct config *config = intake->snapshot->config;
    struct ingest *ingest = intake->ingest;

    if (config->providers[intake->provider].secret_count > 0) {
        refuse(intake, REFUSAL_SECRET_NOT_EXPECTED);
        return;
    }
    if (!config->capture_key) {
        refuse(intake, REFUSAL_SECRET_NOT_KEPT);
        return;
    }
    intake->reply = arena_alloc(intake->request->arena, sizeof(*intake->reply));
    *intake->reply = *reply;
    intake->capture = (struct vault_item){.provider = config->providers[intake->provider].name,
                                          .secret = reply->capture,
                                          .source_ip = intake->request->source_ip,
                                          .done = on_captured,
                                          .owner = intake};
    if (ingest->vault && vault_put(ingest->vault, &intake->capture))
        park(intake);
    else
        refuse(intake, REFUSAL_TRY_AGAIN);
}

/* Answers the request if it is a handshake. */
static bool shake_hands(struct intake *intake, enum handshake_stage stage)
{
    struct str secret = STR_NONE;
    struct handshake_reply reply;

    if (stage == HANDSHAKE_AFTER_VERIFY)
        secret = provider_matched(intake->snapshot->providers[intake->provider]);
    if (!handshakes_answer(handshakes_of(intake), stage, &intake->view, secret,
                           intake->request->arena, &reply))
        return false;
    if (reply.refusal != REFUSAL_NONE)
        refuse(intake, reply.refusal);
    else if (reply.capture.ptr)
        capture_secret(intake, &reply);
    else
        answer_handshake(intake, &reply);
    return true;
}

/* After the answer: a copy for the quarantine, which may have no room for it. */
static void keep_refused(const struct intake *intake, enum refusal refusal)
{
    const struct refusal_info *info = refusal_info(refusal);

    if (info->kept && intake->ingest->quarantine)
        quarantine_put(intake->ingest->quarantine,
                       &intake->snapshot->config->providers[intake->provider], &intake->view,
                       info->text);
}

/* Events as the writer wants them. */
static void make_items(struct intake *intake, const struct provider_events *events)
{
    struct store_group *group = &intake->group;

    group->items = arena_alloc(intake->request->arena, (events->count + 1) * sizeof(*group->items));
    group->count = events->count;
    for (size_t i = 0; i < events->count; i++)
        group->items[i] = (struct store_item){
            .event = events->list[i], .group = group, .done = on_done, .owner = intake};
    intake->unanswered = events->count;
    intake->split = events->split;
}

/* From the bytes to events. False: the request is answered. */
static bool read_events(struct intake *intake)
{
    struct provider *provider = intake->snapshot->providers[intake->provider];
    struct provider_events events = {.element = PROVIDER_NO_ELEMENT};
    enum refusal refusal;
    bool verified = false;

    intake->view.body = intake->request->body;
    if (shake_hands(intake, HANDSHAKE_BEFORE_VERIFY))
        return false;
    refusal = snapshot_lacks_secret(intake->snapshot, intake->provider)
                  ? REFUSAL_TRY_AGAIN
                  : provider_verify(provider, &intake->view, &verified);
    if (refusal == REFUSAL_NONE && shake_hands(intake, HANDSHAKE_AFTER_VERIFY))
        return false;
    if (refusal == REFUSAL_NONE)
        refusal =
            provider_parse(provider, &intake->view, verified, intake->request->arena, &events);
    if (refusal != REFUSAL_NONE) {
        if (events.element != PROVIDER_NO_ELEMENT)
            refuse_element(intake, refusal, events.element);
        else
            refuse(intake, refusal);
        keep_refused(intake, refusal);
        return false;
    }
    make_items(intake, &events);
    return true;
}

static void on_body(void *argument, struct http_request *request)
{
    struct ingest *ingest = argument;
    struct intake *intake = request->owner;

    if (!read_events(intake))
        return;
    if (intake->group.count == 0) {
        answer_committed(intake);
        return;
    }
    if (!ingest->writer || fault("ingest.queue_full") ||
        !writer_put_group(ingest->writer, &intake->group)) {
        refuse(intake, REFUSAL_TRY_AGAIN);
        return;
    }
    park(intake);
}

/* ---- what the server says ---- */

static enum refusal refusal_of(enum http_fault fault)
{
    static const enum refusal map[HTTP_FAULT_COUNT] = {
        [HTTP_BAD_FRAMING] = REFUSAL_BAD_REQUEST,
        [HTTP_BODY_TOO_LARGE] = REFUSAL_BODY_TOO_LARGE,
        [HTTP_TOO_SLOW] = REFUSAL_TOO_SLOW,
        [HTTP_TOO_MANY] = REFUSAL_TRY_AGAIN,
    };

    return map[fault];
}

static void on_refused(void *argument, struct http_request *request, enum http_fault fault)
{
    struct ingest *ingest = argument;

    note_refusal(ingest, request ? request->owner : NULL, refusal_of(fault),
                 request ? request->source_ip : STR_NONE);
}

static void on_ended(void *argument, struct http_request *request)
{
    struct intake *intake = request->owner;

    (void)argument;
    snapshot_unref(intake->snapshot);
}

/* ---- life ---- */

static void on_refusals_sweep(void *argument)
{
    struct ingest *ingest = argument;

    refusals_sweep(ingest->snapshot->refusals);
}

static void on_uses_sweep(void *argument)
{
    ingest_flush(argument);
}

static struct http_answer *make_refusal(enum refusal refusal)
{
    const struct refusal_info *info = refusal_info(refusal);
    struct http_answer_spec spec = {
        .status = info->status, .text = info->text, .result = info->result, .close = info->close};

    if (refusal == REFUSAL_TRY_AGAIN || refusal == REFUSAL_RATE_LIMIT)
        spec.retry_after = "1";
    if (refusal == REFUSAL_METHOD_NOT_ALLOWED)
        spec.allow = "POST";
    return http_answer_new(&spec);
}

struct ingest *ingest_new(struct loop *loop, struct snapshot *snapshot)
{
    struct ingest *ingest = mem_alloc(sizeof(*ingest));

    ingest->loop = loop;
    ingest->snapshot = snapshot_ref(snapshot);
    for (int i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++)
        ingest->refusals[i] = make_refusal((enum refusal)i);
    ingest->stored = http_answer_new(
        &(struct http_answer_spec){.status = 200, .text = "ok", .result = "stored"});
    ingest->duplicate = http_answer_new(
        &(struct http_answer_spec){.status = 200, .text = "dup", .result = "duplicate"});
    ingest->sweep = loop_timer_new(loop, SWEEP_MS, on_sweep, ingest);
    ingest->refusals_sweep = loop_timer_new(loop, REFUSALS_SWEEP_MS, on_refusals_sweep, ingest);
    ingest->uses_sweep = loop_timer_new(loop, USES_SWEEP_MS, on_uses_sweep, ingest);
    return ingest;
}

void ingest_free(struct ingest *ingest)
{
    if (!ingest)
        return;
    loop_timer_free(ingest->sweep);
    loop_timer_free(ingest->refusals_sweep);
    loop_timer_free(ingest->uses_sweep);
    for (int i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++)
        http_answer_free(ingest->refusals[i]);
    http_answer_free(ingest->stored);
    http_answer_free(ingest->duplicate);
    snapshot_unref(ingest->snapshot);
    free(ingest);
}

void ingest_serve(struct ingest *ingest, struct http_server_options *options)
{
    static const struct http_handler handler = {
        .head = on_head, .body = on_body, .refused = on_refused, .ended = on_ended};

    options->handler = &handler;
    options->argument = ingest;
    for (int i = 0; i < HTTP_FAULT_COUNT; i++)
        options->answers[i] = ingest->refusals[refusal_of((enum http_fault)i)];
}

void ingest_set_inbox(struct ingest *ingest, struct writer *writer, struct keeper *keeper)
{
    ingest->writer = writer;
    ingest->keeper = keeper;
    uses_configure(keeper_secret_uses(keeper), ingest->snapshot->config);
}

void ingest_set_quarantine(struct ingest *ingest, struct quarantine *quarantine)
{
    ingest->quarantine = quarantine;
}

void ingest_set_vault(struct ingest *ingest, struct vault *vault)
{
    ingest->vault = vault;
}

void ingest_reload(struct ingest *ingest, struct snapshot *snapshot)
{
    struct snapshot *old = ingest->snapshot;

    ingest_flush(ingest);
    ingest->snapshot = snapshot_ref(snapshot);
    snapshot_unref(old);
    if (ingest->keeper)
        uses_configure(keeper_secret_uses(ingest->keeper), snapshot->config);
}

void ingest_flush(struct ingest *ingest)
{
    if (ingest->keeper)
        uses_collect(keeper_secret_uses(ingest->keeper), ingest->snapshot);
}

struct ingest_counts ingest_counts(const struct ingest *ingest)
{
    return ingest->counts;
}
