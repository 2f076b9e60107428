/* Any bytes as the body of a request, packed or not, for providers of every format, with and
 * without split: no crash; what is accepted has an identity that PostgreSQL can hold and, where
 * there is a payload, JSON that jsonb takes. The first byte chooses provider and encoding. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NONE "\nverify = none\non = ignore\nmax_body = 64K\n"

static const char config_text[] =
    "[provider a]" NONE "event_id = body:/id | body:/a/0 | sha256\nkey = body:/a/b\n"
    "[provider b]" NONE "split = body:\nevent_id = body:/id | sha256\nkey = request:/1/id\n"
    "[provider c]" NONE "split = body:/e/*/c | body:/e/*/d\n"
    "event_id = request:/e/*/i + body: | request:/o + body:/id | sha256\n"
    "[provider d]" NONE "format = form\nevent_id = body:/id + body:/a | body:/id\n"
    "[provider e]" NONE "format = form:p\nsplit = body:/a | body:\nevent_id = body:/id\n"
    "[provider f]" NONE "format = raw | form\nsplit = body:/id\nevent_id = body: | sha256\n";

static struct provider *provider_of(unsigned number)
{
    static struct provider *providers[6];
    static struct config *config;

    if (!config) {
        struct mistakes *mistakes = mistakes_new();

        config = config_parse("fuzz.conf", str_from(config_text), mistakes);
        for (size_t i = 0; i < 6; i++) {
            providers[i] = provider_new(&config->providers[i], mistakes);
            if (!providers[i])
                abort();
        }
        mistakes_free(mistakes);
    }
    return providers[number % 6];
}

static void check_event(const struct event *event)
{
    struct json_scan scan;
    struct str document = event->document.ptr ? event->document : event->body;

    if (event->id.len == 0 || event->id.len > 512 || !utf8_valid(event->id) ||
        memchr(event->id.ptr, '\0', event->id.len))
        abort();
    if (event->has_payload && (!json_scan(document, NULL, JSON_DEPTH_CEILING, &scan, NULL) ||
                               scan.needs_repair || scan.had_bom))
        abort();
    if (!event->has_payload && event->document.ptr)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const encodings[] = {"identity", "gzip", "deflate", "br"};
    struct header headers[2] = {{STR("Content-Encoding"), STR_NONE},
                                {STR("Content-Type"), STR("application/x-www-form-urlencoded")}};
    struct request request = {.headers = headers};
    struct provider_events events = {.count = 0};
    struct provider *provider;
    struct arena *arena;

    if (size == 0)
        return 0;
    provider = provider_of(data[0] & 15);
    headers[0].value = str_from(encodings[data[0] >> 4 & 3]);
    request.header_count = data[0] & 64 ? 2 : 1;
    request.body = (struct str){(const char *)data + 1, size - 1};
    arena = arena_new(1024);
    if (provider_read(provider, &request, arena, &events) == REFUSAL_NONE) {
        if (!events.split && events.count != 1)
            abort();
        for (size_t i = 0; i < events.count; i++)
            check_event(&events.list[i]);
    }
    arena_free(arena);
    return 0;
}
