/* Any bytes as the query, headers and body of a handshake. No crash, no read outside; whatever is
 * sent back is text/plain or JSON, bounded, and its headers stay one line each; JSON is JSON. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "fields.h"
#include "handshake/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 5
#define TOKEN "tokentokentoken"
#define SECTION                                                                                    \
    "[provider p]\nverify = hmac-sha256\nsignature = header:X hex\nsigned = {body}\n"              \
    "secret = text:0123456789abcdef\nhandshake_token = text:" TOKEN                                \
    "\nevent_id = sha256\non = ignore\nhandshake = "

static const char *const lists[] = {
    "crc, echo-query, hub, head-ok, options a.example, validation-token vt",
    "hub json, options, validation-token, json-challenge unsigned, unsigned-ping",
    "json-challenge, zoom, ping-pong, sns-confirm, header-echo, token-capture",
    "header-echo X-Challenge X-Response",
};
static struct handshakes *handshakes[ARRAY_LEN(lists)];
static struct config *configs[ARRAY_LEN(lists)];

static void make(void)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf("%s%s\n", SECTION, lists[i]);

        configs[i] = config_parse("f", str_from(text), mistakes);
        if (!configs[i] || !(handshakes[i] = handshakes_new(&configs[i]->providers[0], mistakes)))
            abort();
        mistakes_free(mistakes);
        free(text);
    }
}

static void check(const struct handshake_reply *reply)
{
    const char *type = reply->content_type ? reply->content_type : "";
    struct json_scan scan;

    if (reply->refusal != REFUSAL_NONE)
        return;
    if (reply->status != 200 && reply->status != 204)
        abort();
    if (reply->body.len > 0 && strcmp(type, "text/plain") != 0 &&
        strcmp(type, "application/json") != 0)
        abort();
    if (reply->body.len > 6 * 4096 + 256 || reply->header_count > HANDSHAKE_HEADERS_MAX)
        abort();
    if (strcmp(type, "application/json") == 0 && reply->body.len > 0 &&
        !json_scan(reply->body, NULL, JSON_DEPTH_DEFAULT, &scan, NULL))
        abort();
    for (size_t i = 0; i < reply->header_count; i++)
        for (size_t k = 0; k < reply->headers[i].value.len; k++)
            if ((unsigned char)reply->headers[i].value.ptr[k] < ' ')
                abort();
    if (reply->capture.ptr && (reply->capture.len < 8 || reply->capture.len > 512))
        abort();
    if (reply->visit.ptr && !str_starts(reply->visit, STR("https://sns.")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT"};
    struct str fields[FIELDS];
    struct header headers[4];
    struct request request = {.headers = headers, .header_count = 4};
    struct arena *arena = arena_new(4096);

    if (!handshakes[0])
        make();
    fields_cut(data, size, fields, FIELDS);
    headers[0] = (struct header){STR("X-Hook-Secret"), fields[1]};
    headers[1] = (struct header){fields[2], fields[3]};
    headers[2] = (struct header){STR("WebHook-Request-Origin"), fields[1]};
    headers[3] = (struct header){STR("X-Challenge"), fields[3]};
    request.query = fields[0].len ? fields[0] : STR_NONE;
    request.body = fields[4];
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t k = 0; k < ARRAY_LEN(methods); k++)
            for (int stage = HANDSHAKE_BEFORE_VERIFY; stage <= HANDSHAKE_AFTER_VERIFY; stage++) {
                struct handshake_reply reply;

                request.method = str_from(methods[k]);
                if (handshakes_answer(handshakes[i], (enum handshake_stage)stage, &request,
                                      STR_NONE, arena, &reply))
                    check(&reply);
            }
    arena_free(arena);
    fields_free(fields, FIELDS);
    return 0;
}
