/* From a verified request to what it holds: its encoding undone, its JSON found and scanned, its
 * events taken out, their sources read. */
#include "base/codec.h"
#include "base/digest.h"
#include "provider/encoding.h"
#include "provider/event_time.h"
#include "provider/headers.h"
#include "provider/parts.h"

/* What is shared by the events of one request. */
struct reading {
    struct provider *provider;
    const struct request *request;
    struct arena *arena;
    struct event common;
    struct json_scan scan; /* of the document */
    struct event *list;
    size_t count, size;
    bool attributes_in_headers;
};

/* A CloudEvent has all that one needs. */
static bool is_whole(const struct provider *provider, const struct source_input *input)
{
    for (size_t i = 0; i < CLOUDEVENT_REQUIRED; i++)
        if (provider->required[i] && !source_value(provider->required[i], input).ptr)
            return false;
    return true;
}

static struct str optional_value(const struct source *source, const struct source_input *input)
{
    return source ? source_value(source, input) : STR_NONE;
}

/* Identity, type and key of an event whose bytes are known. */
static enum refusal read_sources(const struct reading *reading,
                                 const struct json_value *const values[SCOPE_LEVELS],
                                 struct event *event)
{
    const struct provider *provider = reading->provider;
    struct source_input input = {.request = reading->request, .arena = reading->arena};
    char sha256_hex[CODEC_HEX_SIZE(EVENT_SHA256_SIZE)];

    digest_sha256(event->body, event->body_sha256);
    codec_hex_encode(event->body_sha256, EVENT_SHA256_SIZE, sha256_hex);
    input.body_sha256_hex = arena_copy(input.arena, str_from(sha256_hex));
    memcpy(input.values, values, sizeof(input.values));
    input.attributes_in_headers = reading->attributes_in_headers;
    if (!is_whole(provider, &input))
        return REFUSAL_INVALID_CLOUDEVENT;
    event->id = source_value(provider->event_id, &input);
    if (!event->id.ptr)
        return REFUSAL_MISSING_EVENT_ID;
    event->type = optional_value(provider->event_type, &input);
    event->class = routes_find(&provider->routes, event->type)->class;
    /* Lanes that are pulled hold nothing else: what is ignored beside is done at once. */
    event->ordered = provider->config->order != ORDER_NONE &&
                     (event->class == WORK_PULL || !routes_have(&provider->routes, WORK_PULL));
    event->key = optional_value(provider->key, &input);
    event->has_time = event_time_read(optional_value(provider->event_time, &input), &event->time);
    return REFUSAL_NONE;
}

/* The next place in the list. */
static struct event *add_event(struct reading *reading)
{
    if (reading->count == reading->size) {
        size_t size = reading->size ? 4 * reading->size : 16;
        struct event *list = arena_alloc(reading->arena, size * sizeof(*list));

        if (reading->count > 0)
            memcpy(list, reading->list, reading->count * sizeof(*list));
        reading->list = list;
        reading->size = size;
    }
    return &reading->list[reading->count++];
}

/* What the setting `store` leaves out. A body whose JSON had to be altered is kept in any case: it
 * is the only place where the event is whole. */
static void leave_out(const struct reading *reading, struct event *event)
{
    switch (reading->provider->config->store) {
    case STORE_BOTH:
        break;
    case STORE_BODY:
        event->has_payload = event->payload_repaired = false;
        event->document = STR_NONE;
        break;
    case STORE_PAYLOAD:
        event->drops_body = event->has_payload && !event->payload_repaired;
        break;
    }
}

/* An element that is an event: its bytes are the event's. */
static enum refusal read_element(void *argument, struct str element,
                                 const struct json_value *const values[SCOPE_LEVELS])
{
    struct reading *reading = argument;
    struct event event = reading->common;
    enum refusal refusal;
    struct json_scan scan;

    if (reading->count == SPLIT_EVENTS_MAX)
        return REFUSAL_TOO_MANY_EVENTS;
    event.body = element;
    event.has_payload = true;
    event.payload_repaired = reading->scan.needs_repair &&
                             json_scan(element, NULL, JSON_DEPTH_CEILING, &scan, NULL) &&
                             scan.needs_repair;
    if (event.payload_repaired)
        event.document = json_repair(element, reading->arena);
    refusal = read_sources(reading, values, &event);
    if (refusal == REFUSAL_NONE) {
        leave_out(reading, &event);
        *add_event(reading) = event;
    }
    return refusal;
}

/* A request that is an event itself. */
static enum refusal read_whole(struct reading *reading, struct str json,
                               const struct json_value *values)
{
    const struct json_value *const levels[SCOPE_LEVELS] = {[SCOPE_EVENT] = values};
    struct event event = reading->common;
    enum refusal refusal;

    event.body = reading->request->body;
    event.has_payload = json.ptr;
    event.payload_repaired = reading->scan.needs_repair;
    if (event.payload_repaired)
        event.document = json_repair(reading->scan.value.text, reading->arena);
    else if (json.ptr && (reading->scan.had_bom || json.ptr != event.body.ptr))
        event.document = reading->scan.value.text;
    refusal = read_sources(reading, levels, &event);
    if (refusal == REFUSAL_NONE) {
        leave_out(reading, &event);
        reading->list = arena_alloc(reading->arena, sizeof(event));
        reading->list[reading->count++] = event;
    }
    return refusal;
}

static struct str read_headers(struct provider *provider, const struct request *request,
                               struct arena *arena)
{
    buf_clear(&provider->headers);
    headers_put_json(request, provider->scheme, &provider->config->redact, &provider->headers);
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

static enum refusal read_events(struct reading *reading, struct str json, bool splits)
{
    struct provider *provider = reading->provider;
    const struct json_paths *paths = provider->paths[splits ? SCOPE_REQUEST : SCOPE_EVENT];
    struct json_value values[JSON_PATHS_MAX];

    if (!json.ptr)
        return read_whole(reading, json, NULL);
    if (!json_scan(json, paths, JSON_DEPTH_DEFAULT, &reading->scan, paths ? values : NULL))
        return REFUSAL_INVALID_JSON;
    return splits ? split_each(&provider->split, provider->paths, values, read_element, reading)
                  : read_whole(reading, json, paths ? values : NULL);
}

enum refusal provider_parse(struct provider *provider, const struct request *request, bool verified,
                            struct arena *arena, struct provider_events *events)
{
    struct reading reading = {.provider = provider, .request = request, .arena = arena};
    struct str json = STR_NONE;
    enum refusal refusal = read_text(provider, request, arena, &json);
    bool splits =
        json.ptr && provider->scope.splits && format_may_split(&provider->format, request);

    events->element = PROVIDER_NO_ELEMENT;
    if (refusal != REFUSAL_NONE)
        return refusal;
    reading.common = (struct event){.provider = provider->config->name,
                                    .headers = read_headers(provider, request, arena),
                                    .source_ip = request->source_ip,
                                    .signature_verified = verified};
    reading.attributes_in_headers = format_has_attributes_in_headers(&provider->format, request);
    refusal = read_events(&reading, json, splits);
    if (refusal == REFUSAL_NONE) {
        events->list = reading.list;
        events->count = reading.count;
        events->split = splits;
    } else if (splits &&
               (refusal == REFUSAL_MISSING_EVENT_ID || refusal == REFUSAL_INVALID_CLOUDEVENT)) {
        events->element = reading.count;
    }
    return refusal;
}
