/* From a verified request to what it holds: its encoding undone, its JSON found and scanned once,
 * its sources read. */
#include "base/codec.h"
#include "base/digest.h"
#include "provider/encoding.h"
#include "provider/headers.h"
#include "provider/parts.h"

/* Scans the text that becomes `payload`: what its pointers name, and what jsonb takes of it. */
static enum refusal read_document(const struct provider *provider, struct str json,
                                  struct json_value *values, struct event *event,
                                  struct arena *arena)
{
    struct json_scan scan;

    if (!json_scan(json, provider->paths, JSON_DEPTH_DEFAULT, &scan,
                   provider->paths ? values : NULL))
        return REFUSAL_INVALID_JSON;
    event->has_payload = true;
    event->payload_repaired = scan.needs_repair;
    if (scan.needs_repair)
        event->document = json_repair(scan.value.text, arena);
    else if (scan.had_bom || json.ptr != event->body.ptr)
        event->document = scan.value.text;
    return REFUSAL_NONE;
}

static struct str optional_value(const struct source *source, const struct source_input *input)
{
    return source ? source_value(source, input) : STR_NONE;
}

static enum refusal read_sources(const struct provider *provider, struct source_input *input,
                                 struct event *event)
{
    char sha256_hex[CODEC_HEX_SIZE(EVENT_SHA256_SIZE)];

    digest_sha256(event->body, event->body_sha256);
    codec_hex_encode(event->body_sha256, EVENT_SHA256_SIZE, sha256_hex);
    input->body_sha256_hex = arena_copy(input->arena, str_from(sha256_hex));
    event->id = source_value(provider->event_id, input);
    if (!event->id.ptr)
        return REFUSAL_MISSING_EVENT_ID;
    event->type = optional_value(provider->event_type, input);
    event->key = optional_value(provider->key, input);
    return REFUSAL_NONE;
}

static struct str read_headers(struct provider *provider, const struct request *request,
                               struct arena *arena)
{
    buf_clear(&provider->headers);
    headers_put_json(request, provider->scheme, &provider->headers);
    return arena_copy(arena, buf_str(&provider->headers));
}

/* The JSON text of the request; ptr NULL: it has none. */
static enum refusal read_text(const struct provider *provider, const struct request *request,
                              struct arena *arena, struct str *json)
{
    struct str text;
    enum refusal refusal = encoding_undo(request, (size_t)provider->config->max_body, arena, &text);

    return refusal != REFUSAL_NONE ? refusal
                                   : format_read(&provider->format, request, text, arena, json);
}

enum refusal provider_parse(struct provider *provider, const struct request *request, bool verified,
                            struct arena *arena, struct provider_events *events)
{
    struct json_value values[JSON_PATHS_MAX];
    struct event event = {.provider = provider->config->name,
                          .body = request->body,
                          .source_ip = request->source_ip,
                          .signature_verified = verified,
                          .class = WORK_SQL,
                          /* Until lanes are claimed: keys are kept, and run like all others. */
                          .ordered = false};
    struct source_input input = {.request = request, .arena = arena};
    struct str json;
    enum refusal refusal = read_text(provider, request, arena, &json);

    if (refusal == REFUSAL_NONE && json.ptr) {
        refusal = read_document(provider, json, values, &event, arena);
        input.values = values;
    }
    if (refusal == REFUSAL_NONE)
        refusal = read_sources(provider, &input, &event);
    if (refusal != REFUSAL_NONE)
        return refusal;
    event.headers = read_headers(provider, request, arena);
    events->list = arena_alloc(arena, sizeof(event));
    events->list[0] = event;
    events->count = 1;
    return REFUSAL_NONE;
}
