/* A request whose body is there: handshake, verification, reading, and the wait for the thread that
 * stores. What must hold: 200 only for what was committed; storing trouble is 503, never 4xx;
 * whatever a store thread may still read is held until it gives it back, also when the answer has
 * long gone. */
#include "ingest/intake.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

/* ---- waiting for another thread ---- */

static void unlist(struct intake *intake)
{
    struct ingest *ingest = intake->ingest;

    if (!intake->listed)
        return;
    *(intake->prev ? &intake->prev->next : &ingest->first) = intake->next;
    *(intake->next ? &intake->next->prev : &ingest->last) = intake->prev;
    intake->listed = false;
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

/* Answers requests that have waited too long for the database. The store thread may still have
 * them: if it commits later, the sender's retry is a duplicate. Each provider has its own deadline,
 * so all that are parked are looked at; `queue_max` bounds them. */
void intake_sweep(struct ingest *ingest)
{
    int64_t now = clock_mono_us();

    for (struct intake *intake = ingest->first, *next; intake; intake = next) {
        next = intake->next;
        if (intake->deadline_us > now)
            continue;
        __atomic_store_n(&intake->group.abandoned, true, __ATOMIC_RELAXED);
        __atomic_store_n(&intake->capture.abandoned, true, __ATOMIC_RELAXED);
        unlist(intake);
        intake_refuse(intake, REFUSAL_TRY_AGAIN);
    }
}

/* ---- handshakes ---- */

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
            intake_answer_handshake(intake, intake->reply);
            break;
        case VAULT_TAKEN:
            intake_refuse(intake, REFUSAL_SECRET_NOT_EXPECTED);
            break;
        case VAULT_UNAVAILABLE:
            intake_refuse(intake, REFUSAL_TRY_AGAIN);
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
        intake_refuse(intake, REFUSAL_SECRET_NOT_EXPECTED);
        return;
    }
    if (!config->capture_key) {
        intake_refuse(intake, REFUSAL_SECRET_NOT_KEPT);
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
        intake_refuse(intake, REFUSAL_TRY_AGAIN);
}

/* Answers the request if it is a handshake. */
static bool shake_hands(struct intake *intake, enum handshake_stage stage)
{
    struct str secret = STR_NONE;
    struct handshake_reply reply;

    if (stage == HANDSHAKE_AFTER_VERIFY)
        secret = provider_matched(intake->snapshot->providers[intake->provider]);
    if (!handshakes_answer(intake_handshakes(intake), stage, &intake->view, secret,
                           intake->request->arena, &reply))
        return false;
    if (reply.refusal != REFUSAL_NONE)
        intake_refuse(intake, reply.refusal);
    else if (reply.capture.ptr)
        capture_secret(intake, &reply);
    else
        intake_answer_handshake(intake, &reply);
    return true;
}

/* ---- events ---- */

/* The writer gives an event back. */
static void on_done(struct store_item *item)
{
    struct intake *intake = item->owner;

    if (--intake->unanswered > 0)
        return;
    if (intake->listed) { /* else the sweep has answered */
        unlist(intake);
        if (intake_count_results(intake, STORE_UNAVAILABLE) > 0)
            intake_refuse(intake, REFUSAL_TRY_AGAIN);
        else
            intake_answer_committed(intake);
    }
    http_request_drop(intake->request);
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
            intake_refuse_element(intake, refusal, events.element);
        else
            intake_refuse(intake, refusal);
        keep_refused(intake, refusal);
        return false;
    }
    make_items(intake, &events);
    return true;
}

void intake_take(struct intake *intake)
{
    struct writer *writer = intake->ingest->writer;

    if (!read_events(intake))
        return;
    if (intake->group.count == 0) {
        intake_answer_committed(intake);
        return;
    }
    if (!writer || fault("ingest.queue_full") || !writer_put_group(writer, &intake->group)) {
        intake_refuse(intake, REFUSAL_TRY_AGAIN);
        return;
    }
    park(intake);
}
