/* The sender's side of a scheme, for test events: the same template and digest, written into the
 * headers that verification reads. */
#include <stddef.h>

#include "base/clock.h"
#include "base/codec.h"
#include "verify/signed.h"

static struct str write_time(const struct signed_scheme *scheme, int64_t us, struct arena *arena)
{
    char iso[CLOCK_TEXT_SIZE];

    switch (scheme->time.unit) {
    case TIME_S:
        return str_from(arena_printf(arena, "%lld", (long long)(us / 1000000)));
    case TIME_MS:
        return str_from(arena_printf(arena, "%lld", (long long)(us / 1000)));
    case TIME_ISO8601:
        clock_format(us, iso);
        return arena_copy(arena, str_from(iso));
    }
    return STR_NONE;
}

static struct str write_digest(const struct signed_scheme *scheme, const unsigned char *digest,
                               size_t size, struct arena *arena)
{
    char text[CODEC_HEX_SIZE(DIGEST_MAX)];

    if (scheme->signatures[0].encoding == ENCODING_HEX)
        codec_hex_encode(digest, size, text);
    else
        codec_base64_encode(digest, size, scheme->signatures[0].encoding == ENCODING_BASE64URL,
                            text);
    return arena_copy(arena, str_from(text));
}

/* The value of the signature's header, the timestamp in front of it where it is an item of the
 * list. */
static struct str write_value(const struct signed_scheme *scheme, struct str timestamp,
                              struct str digest, struct arena *arena)
{
    const struct signature_rule *rule = &scheme->signatures[0];

    if (!scheme->time.item)
        return str_from(arena_printf(arena, "%.*s%.*s", STR_ARG(rule->prefix), STR_ARG(digest)));
    return str_from(arena_printf(arena, "%.*s%.*s%c%.*s%.*s", STR_ARG(scheme->time.prefix),
                                 STR_ARG(timestamp), rule->split, STR_ARG(rule->prefix),
                                 STR_ARG(digest)));
}

static bool can_sign(const struct signed_scheme *scheme)
{
    bool time_in_header =
        !scheme->time.used || scheme->time.item || scheme->time.place.kind == PLACE_HEADER;
    enum place_kind kind = scheme->signatures[0].place.kind;

    return (kind == PLACE_HEADER || kind == PLACE_HEADER_FAMILY) && time_in_header &&
           !scheme->paths;
}

int signed_sign(void *state, const struct request *request, int64_t age_s, bool bad,
                struct arena *arena, struct header *headers, size_t max, size_t *count,
                struct err *err)
{
    struct signed_scheme *scheme = state;
    struct material material = {.request = request};
    unsigned char digest[DIGEST_MAX];
    struct str name = scheme->signatures[0].place.name;
    size_t size, n = 0;

    if (scheme->algorithm->method == METHOD_PUBLIC)
        return err_set(err, ERR_NEVER,
                       "cannot sign with verify = %s: only the sender has the private key",
                       scheme->algorithm->name);
    if (!can_sign(scheme) || max < 2)
        return err_set(err, ERR_NEVER,
                       "cannot sign with a scheme whose signature or timestamp is not in a header");
    if (scheme->time.used)
        material.timestamp = write_time(scheme, request->received_us - age_s * 1000000, arena);
    digester_begin(scheme->digesters[0]);
    if (template_feed(scheme, &material, secret_reveal(scheme->secrets.items[0]),
                      (struct sink){scheme->digesters[0], NULL}) != VERIFY_VALID)
        return err_set(
            err, ERR_INPUT,
            "cannot sign: the request lacks a header or query parameter that the scheme signs");
    size = digester_end(scheme->digesters[0], digest);
    if (bad)
        digest[size - 1] ^= 1;
    if (scheme->time.used && !scheme->time.item)
        headers[n++] = (struct header){scheme->time.place.name, material.timestamp};
    if (scheme->signatures[0].place.kind == PLACE_HEADER_FAMILY)
        name = str_from(arena_printf(arena, "%.*s1", STR_ARG(name)));
    headers[n++] =
        (struct header){name, write_value(scheme, material.timestamp,
                                          write_digest(scheme, digest, size, arena), arena)};
    *count = n;
    return 0;
}
