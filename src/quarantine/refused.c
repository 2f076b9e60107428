/* Copying: the head is written twice, exactly (for a release) and safely (for people), and in
 * neither is a credential. */
#include "quarantine/refused.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/secret.h"
#include "handshake/handshake.h"
#include "provider/headers.h"
#include "quarantine/conceal.h"

#define REDACTED "[redacted]"
#define ROW_OVERHEAD 200 /* bytes of a row beside its texts */

/* What a copy is written into. */
struct draft {
    const struct provider_config *provider;
    unsigned char salt[REFUSED_SALT_SIZE];
    struct buf head, target, hashes;
};

/* ---- sources ---- */

static uint64_t number_of(const unsigned char *bytes, size_t len)
{
    uint64_t number = 0;

    for (size_t i = 0; i < len; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* An IPv4 address, or the /64 of an IPv6 address: who has one of them has all. */
uint64_t refused_source(struct str source_ip)
{
    char text[INET6_ADDRSTRLEN] = "";
    unsigned char address[16];

    if (source_ip.ptr && source_ip.len < sizeof(text))
        memcpy(text, source_ip.ptr, source_ip.len);
    if (inet_pton(AF_INET, text, address) == 1)
        return number_of(address, 4);
    return inet_pton(AF_INET6, text, address) == 1 ? number_of(address, 8) : UINT64_MAX;
}

/* ---- the head ---- */

static void put_hash(struct draft *draft, struct str credential)
{
    unsigned char hash[REFUSED_HASH_SIZE];

    conceal_hash(draft->salt, credential, hash);
    buf_put(&draft->hashes, hash, sizeof(hash));
}

/* A byte of a target that is not plain is written as it would have to be sent. */
static void put_target(struct draft *draft, struct str text)
{
    buf_put_str(&draft->head, text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c > 0x20 && c < 0x7f)
            buf_put_char(&draft->target, (char)c);
        else
            buf_printf(&draft->target, "%%%02X", c);
    }
}

/* The value counts as it is decoded: "a%2Bb" and "a+b" may be the same token. */
static void conceal_value(struct draft *draft, struct str value)
{
    char *decoded = mem_alloc(value.len + 1);
    ssize_t len = codec_percent_decode(value, decoded);

    put_hash(draft, len < 0 ? value : (struct str){decoded, (size_t)len});
    secret_wipe(decoded, value.len);
    free(decoded);
    buf_put_char(&draft->head, '\0');
    buf_put(&draft->target, REDACTED, sizeof(REDACTED) - 1);
}

/* Names are compared as they are decoded: "to%6Ben" is one too. */
static bool is_one(const struct draft *draft, struct str name,
                   bool (*judge)(const struct provider_config *provider, struct str name))
{
    char *decoded = mem_alloc(name.len + 1);
    ssize_t len = codec_percent_decode(name, decoded);
    bool found = judge(draft->provider, name) ||
                 (len >= 0 && judge(draft->provider, (struct str){decoded, (size_t)len}));

    free(decoded);
    return found;
}

static void put_parameter(struct draft *draft, struct str pair)
{
    const char *equals = memchr(pair.ptr, '=', pair.len);
    struct str name = {pair.ptr, equals ? (size_t)(equals - pair.ptr) : pair.len};

    if (equals && is_one(draft, name, conceal_parameter)) {
        put_target(draft, (struct str){pair.ptr, name.len + 1});
        conceal_value(draft, (struct str){equals + 1, pair.len - name.len - 1});
    } else if (equals && is_one(draft, name, conceal_from_view_parameter)) {
        put_target(draft, (struct str){pair.ptr, name.len + 1});
        buf_put_str(&draft->head, (struct str){equals + 1, pair.len - name.len - 1});
        buf_put(&draft->target, REDACTED, sizeof(REDACTED) - 1);
    } else {
        put_target(draft, pair);
    }
}

/* How far the user and the password reach in "http://USER:PASSWORD@HOST/PATH", with the @; 0: there
 * are none. They are not for us, and nothing is verified by them. */
static size_t userinfo_end(struct str path)
{
    size_t start = 0, end = 0;

    while (start + 3 <= path.len && memcmp(path.ptr + start, "://", 3) != 0) {
        if (path.ptr[start] == '/')
            return 0;
        start++;
    }
    for (size_t i = start + 3; i < path.len && path.ptr[i] != '/'; i++)
        if (path.ptr[i] == '@')
            end = i + 1;
    return end;
}

static void put_path(struct draft *draft, struct str path)
{
    size_t end = userinfo_end(path);
    const char *colon = end ? memchr(path.ptr, ':', end) : NULL;
    size_t scheme = colon ? (size_t)(colon - path.ptr) + 3 : 0;

    put_target(draft, (struct str){path.ptr, scheme});
    put_target(draft, (struct str){path.ptr + end, path.len - end});
}

static void put_request_line(struct draft *draft, const struct request *request)
{
    struct str rest = request->target;
    const char *mark = rest.len ? memchr(rest.ptr, '?', rest.len) : NULL;
    size_t path = mark ? (size_t)(mark - rest.ptr) + 1 : rest.len;

    buf_put_str(&draft->head, request->method);
    buf_put_char(&draft->head, ' ');
    put_path(draft, (struct str){rest.ptr, path});
    rest = (struct str){rest.ptr + path, rest.len - path};
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '&', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;

        put_parameter(draft, (struct str){rest.ptr, len});
        if (end)
            put_target(draft, STR("&"));
        len += end ? 1 : 0;
        rest = (struct str){rest.ptr + len, rest.len - len};
    }
    buf_put_char(&draft->head, '\n');
}

/* A value has no line feed in it (the front end reads folded lines as one), and none may get in. */
static void put_line(struct draft *draft, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_put_char(&draft->head, text.ptr[i] == '\n' || text.ptr[i] == '\0' ? ' ' : text.ptr[i]);
}

static void put_header(struct draft *draft, const struct header *header, struct header *shown)
{
    struct str part;

    *shown = *header;
    put_line(draft, header->name);
    buf_put(&draft->head, ": ", 2);
    if (conceal_from_view_header(draft->provider, header->name))
        shown->value = STR(REDACTED);
    if (!conceal_header(draft->provider, header->name)) {
        put_line(draft, header->value);
    } else {
        part = conceal_part(draft->provider, header->value);
        put_line(draft, (struct str){header->value.ptr, header->value.len - part.len});
        buf_put_char(&draft->head, '\0');
        put_hash(draft, part);
        shown->value = STR(REDACTED);
    }
    buf_put_char(&draft->head, '\n');
}

/* ---- the body ---- */

/* The bytes as they came; but a token that a provider hands over, to a section that does not take
 * it, is no event and nothing that could be released. */
static struct str copy_body(struct arena *arena, struct str body)
{
    static const char kept[] = "{\"verification_token\":\"" REDACTED "\"}";

    if (handshake_hands_over(body))
        body = (struct str){kept, sizeof(kept) - 1};
    return arena_copy(arena, body.ptr ? body : STR(""));
}

/* ---- copies ---- */

static struct refused *begin(const struct provider_config *provider, struct str source_ip,
                             struct str body, const char *reason)
{
    struct arena *arena = arena_new(2048);
    struct refused *refused = arena_alloc(arena, sizeof(*refused));

    refused->arena = arena;
    refused->provider = arena_copy(arena, provider->name);
    refused->reason = arena_copy(arena, str_from(reason));
    refused->source_ip = arena_copy(arena, source_ip);
    refused->body = copy_body(arena, body);
    refused->bounds = provider->quarantine_max;
    refused->at_us = clock_mono_us();
    refused->source = refused_source(source_ip);
    return refused;
}

static void end(struct refused *refused)
{
    refused->bytes = (int64_t)(ROW_OVERHEAD + refused->target.len + refused->headers.len +
                               refused->head.len + refused->hashes.len + refused->body.len);
}

static void put_heads(struct refused *refused, struct draft *draft, const struct request *request)
{
    struct request shown = *request;
    struct header *headers =
        arena_alloc(refused->arena, (request->header_count + 1) * sizeof(*headers));
    struct buf json;

    put_request_line(draft, request);
    for (size_t i = 0; i < request->header_count; i++)
        put_header(draft, &request->headers[i], &headers[i]);
    shown.headers = headers;
    buf_init(&json, BUF_NO_CAP);
    headers_put_json(&shown, NULL, &draft->provider->redact, &json);
    refused->headers = arena_copy(refused->arena, buf_str(&json));
    buf_release(&json);
}

struct refused *refused_new(const struct provider_config *provider, const struct request *request,
                            const char *reason)
{
    struct refused *refused = begin(provider, request->source_ip, request->body, reason);
    struct draft draft = {.provider = provider};

    if (getrandom(draft.salt, sizeof(draft.salt), 0) < 0)
        abort(); /* cannot be: no more than 256 bytes, after the system's start */
    buf_init(&draft.head, BUF_NO_CAP);
    buf_init(&draft.target, BUF_NO_CAP);
    buf_init(&draft.hashes, BUF_NO_CAP);
    put_heads(refused, &draft, request);
    memcpy(refused->salt, draft.salt, sizeof(draft.salt));
    refused->method = arena_copy(refused->arena, request->method);
    refused->head = arena_copy(refused->arena, buf_str(&draft.head));
    refused->target = arena_copy(refused->arena, buf_str(&draft.target));
    refused->hashes = arena_copy(refused->arena, buf_str(&draft.hashes));
    buf_release(&draft.head);
    buf_release(&draft.target);
    buf_release(&draft.hashes);
    end(refused);
    return refused;
}

struct refused *refused_new_different(const struct provider_config *provider,
                                      const struct event *event, int64_t first)
{
    struct refused *refused = begin(provider, event->source_ip, event->body, REFUSED_DIFFERENT);

    refused->first = first;
    refused->headers = arena_copy(refused->arena, event->headers);
    end(refused);
    return refused;
}

void refused_free(struct refused *refused)
{
    if (refused)
        arena_free(refused->arena);
}
