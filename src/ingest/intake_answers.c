/* What a sender is told, and how it is counted and logged: the answers of the contract. What every
 * request shares is made once. */
#include <stdio.h>

#include "base/log.h"
#include "ingest/intake.h"

/* ---- refusing ---- */

/* Of a body that is too large as it was sent; false: it is about something else, or grew too large
 * when it was inflated. */
static bool find_size(const struct intake *intake, enum refusal refusal, struct refusal_size *size)
{
    if (!intake || refusal != REFUSAL_BODY_TOO_LARGE)
        return false;
    size->bytes = intake->request->length;
    size->limit = intake->snapshot->config->providers[intake->provider].max_body;
    return size->bytes > size->limit;
}

/* `intake`: NULL where no provider was found. */
void ingest_note_refusal(struct ingest *ingest, const struct intake *intake, enum refusal refusal,
                         struct str source_ip)
{
    struct snapshot *snapshot = intake ? intake->snapshot : ingest->snapshot;
    struct refusal_size size;
    bool sized = find_size(intake, refusal, &size);

    if (refusal == REFUSAL_TRY_AGAIN)
        ingest->counts.unavailable++;
    else
        ingest->counts.refused++;
    if (intake && ingest->keeper && refusal != REFUSAL_TRY_AGAIN)
        refusal_counts_add(keeper_refusal_counts(ingest->keeper),
                           snapshot->config->providers[intake->provider].name, refusal,
                           sized ? &size : NULL);
    refusals_note(snapshot->refusals, intake ? (ptrdiff_t)intake->provider : -1, refusal,
                  sized ? &size : NULL, source_ip);
}

void ingest_refuse_unknown(struct ingest *ingest, struct http_request *request,
                           enum refusal refusal)
{
    ingest_note_refusal(ingest, NULL, refusal, request->source_ip);
    http_request_answer(request, ingest->refusals[refusal]);
}

const struct handshakes *intake_handshakes(const struct intake *intake)
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
                                   .allow = handshakes_allow(intake_handshakes(intake))});
}

void intake_refuse(struct intake *intake, enum refusal refusal)
{
    ingest_note_refusal(intake->ingest, intake, refusal, intake->request->source_ip);
    if (refusal == REFUSAL_METHOD_NOT_ALLOWED)
        http_request_answer_once(intake->request, make_method_not_allowed(intake));
    else
        http_request_answer(intake->request, intake->ingest->refusals[refusal]);
}

/* Says which of several events is meant. */
void intake_refuse_element(struct intake *intake, enum refusal refusal, size_t element)
{
    const struct refusal_info *info = refusal_info(refusal);

    ingest_note_refusal(intake->ingest, intake, refusal, intake->request->source_ip);
    http_request_answer_once(
        intake->request,
        http_answer_new(&(struct http_answer_spec){
            .status = info->status,
            .text = arena_printf(intake->request->arena, "%s in element %zu", info->text, element),
            .result = info->result}));
}

void intake_refuse_rate(struct intake *intake, int64_t wait_s)
{
    const struct refusal_info *info = refusal_info(REFUSAL_RATE_LIMIT);
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)wait_s);
    ingest_note_refusal(intake->ingest, intake, REFUSAL_RATE_LIMIT, intake->view.source_ip);
    http_request_answer_once(intake->request,
                             http_answer_new(&(struct http_answer_spec){.status = info->status,
                                                                        .text = info->text,
                                                                        .result = info->result,
                                                                        .retry_after = text}));
}

/* ---- taking ---- */

/* How many of a request's events had that result. */
size_t intake_count_results(const struct intake *intake, enum store_result result)
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
void intake_answer_committed(struct intake *intake)
{
    struct ingest *ingest = intake->ingest;
    const struct replies *replies = &intake->snapshot->replies[intake->provider];
    size_t stored = intake_count_results(intake, STORE_STORED);
    size_t duplicate = intake_count_results(intake, STORE_DUPLICATE);
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

void intake_answer_handshake(struct intake *intake, const struct handshake_reply *reply)
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

/* ---- what all requests share ---- */

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

void ingest_make_answers(struct ingest *ingest)
{
    for (int i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++)
        ingest->refusals[i] = make_refusal((enum refusal)i);
    ingest->stored = http_answer_new(
        &(struct http_answer_spec){.status = 200, .text = "ok", .result = "stored"});
    ingest->duplicate = http_answer_new(
        &(struct http_answer_spec){.status = 200, .text = "dup", .result = "duplicate"});
}

void ingest_free_answers(struct ingest *ingest)
{
    for (int i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++)
        http_answer_free(ingest->refusals[i]);
    http_answer_free(ingest->stored);
    http_answer_free(ingest->duplicate);
}
