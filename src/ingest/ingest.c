/* The front of the accepting path: what the server hands over and asks, and the settings. head()
 * checks what a header can tell, in the contract's order; the rest of a request is intake.c's. */
#include "ingest/ingest.h"

#include <stdlib.h>

#include "base/clock.h"
#include "ingest/intake.h"
#include "ingest/path.h"
#include "ingest/sender.h"
#include "ingest/uses.h"
#include "provider/encoding.h"

#define SWEEP_MS 50
#define REFUSALS_SWEEP_MS 10000
#define USES_SWEEP_MS 2000

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

static void on_head(void *argument, struct http_request *request)
{
    struct ingest *ingest = argument;
    const struct config *config = ingest->snapshot->config;
    struct path path = path_read(request->target);
    struct intake *intake;
    ptrdiff_t provider;
    int64_t wait_s;
    bool allowed;

    if (!path.provider.ptr) {
        ingest_refuse_unknown(ingest, request, REFUSAL_NOT_FOUND);
        return;
    }
    provider = snapshot_find(ingest->snapshot, path.provider);
    if (provider < 0) {
        ingest_refuse_unknown(ingest, request, REFUSAL_UNKNOWN_PROVIDER);
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
    if (!handshakes_take(intake_handshakes(intake), request->method)) {
        intake_refuse(intake, REFUSAL_METHOD_NOT_ALLOWED);
        return;
    }
    if (!allowed) {
        intake_refuse(intake, REFUSAL_ADDRESS_NOT_ALLOWED);
        return;
    }
    wait_s = rates_take(ingest->snapshot->rates, intake->provider, intake->view.source_ip,
                        clock_mono_us());
    if (wait_s > 0) {
        intake_refuse_rate(intake, wait_s);
        return;
    }
    http_request_limit(request, (size_t)config->providers[provider].max_body);
    if (encoding_of(&intake->view) == ENCODING_UNKNOWN)
        intake_refuse(intake, REFUSAL_UNSUPPORTED_ENCODING);
}

static void on_body(void *argument, struct http_request *request)
{
    (void)argument;
    intake_take(request->owner);
}

/* ---- what the server says ---- */

static enum refusal refusal_of(enum http_fault fault)
{
    static const enum refusal map[HTTP_FAULT_COUNT] = {
        [HTTP_BAD_FRAMING] = REFUSAL_BAD_REQUEST,
        [HTTP_TARGET_TOO_LONG] = REFUSAL_TARGET_TOO_LONG,
        [HTTP_HEADER_TOO_LARGE] = REFUSAL_HEADERS_TOO_LARGE,
        [HTTP_BAD_METHOD] = REFUSAL_UNKNOWN_METHOD,
        [HTTP_BAD_VERSION] = REFUSAL_VERSION_NOT_SUPPORTED,
        [HTTP_BODY_TOO_LARGE] = REFUSAL_BODY_TOO_LARGE,
        [HTTP_TOO_SLOW] = REFUSAL_TOO_SLOW,
        [HTTP_TOO_MANY] = REFUSAL_TRY_AGAIN,
    };

    return map[fault];
}

static void on_refused(void *argument, struct http_request *request, enum http_fault fault)
{
    struct ingest *ingest = argument;

    ingest_note_refusal(ingest, request ? request->owner : NULL, refusal_of(fault),
                        request ? request->source_ip : STR_NONE);
}

static void on_ended(void *argument, struct http_request *request)
{
    struct intake *intake = request->owner;

    (void)argument;
    snapshot_unref(intake->snapshot);
}

/* ---- life ---- */

static void on_sweep(void *argument)
{
    intake_sweep(argument);
}

static void on_refusals_sweep(void *argument)
{
    struct ingest *ingest = argument;

    refusals_sweep(ingest->snapshot->refusals);
}

static void on_uses_sweep(void *argument)
{
    ingest_flush(argument);
}

struct ingest *ingest_new(struct loop *loop, struct snapshot *snapshot)
{
    struct ingest *ingest = mem_alloc(sizeof(*ingest));

    ingest->loop = loop;
    ingest->snapshot = snapshot_ref(snapshot);
    ingest_make_answers(ingest);
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
    ingest_free_answers(ingest);
    snapshot_unref(ingest->snapshot);
    free(ingest);
}

void ingest_serve(struct ingest *ingest, struct http_server_options *options)
{
    static const struct http_handler handler = {
        .head = on_head, .body = on_body, .refused = on_refused, .ended = on_ended};

    options->handler = &handler;
    options->argument = ingest;
    for (int i = HTTP_NO_FAULT + 1; i < HTTP_FAULT_COUNT; i++)
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
