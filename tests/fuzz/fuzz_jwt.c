/* JSON Web Tokens of any bytes. As they are, none is ever valid. As header and claims that our
 * secret has signed, they are judged without a crash, and never valid where the header names
 * another algorithm. And any texts as the settings make a scheme or are refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "base/json.h"
#include "fields.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 3
#define SECRET "0123456789abcdef0123456789abcdef"

static const struct {
    const char *claims, *timestamp;
} specs[] = {
    {NULL, NULL},
    {"iss=a aud={url} exp nbf sub", "claim:iat s"},
    {"u={sha256hex:url} p?={sha256hex:body} s='a b'", "claim:t ms"},
};

static const struct str secret = {SECRET, sizeof(SECRET) - 1};
static struct verify_scheme *schemes[ARRAY_LEN(specs)];
static struct digester *digester;

static void ignore(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)field;
    (void)index;
    *(bool *)argument = text[0] != '\0';
}

static struct verify_spec spec_of(struct str claims, struct str timestamp)
{
    bool covers = claims.ptr && memmem(claims.ptr, claims.len, "{sha256hex:body}", 16);

    return (struct verify_spec){.algorithm = STR("jwt"),
                                .signature = STR("header:J"),
                                .algorithms = STR("HS256"),
                                .claims = claims,
                                .timestamp = timestamp,
                                .body_unauthenticated = covers ? STR("no") : STR("yes"),
                                .public_url = STR("https://example.com/in"),
                                .tolerance = {300000, 300000},
                                .leeway_ms = 1000,
                                .secrets = &secret,
                                .secret_count = 1};
}

static void prepare(void)
{
    bool said = false;

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct verify_spec spec = spec_of(str_from(specs[i].claims), str_from(specs[i].timestamp));

        schemes[i] = verify_scheme_new(&spec, ignore, &said);
        if (!schemes[i])
            abort();
    }
    digester = digester_new_keyed(DIGEST_SHA256, secret);
}

static void put_base64url(struct str bytes, struct buf *out)
{
    char *text = buf_reserve(out, CODEC_BASE64_SIZE(bytes.len));

    codec_base64_encode(bytes.ptr, bytes.len, true, text);
    out->len += strcspn(text, "=");
}

static void sign(struct str header, struct str claims, struct buf *token)
{
    unsigned char digest[DIGEST_MAX];

    put_base64url(header, token);
    buf_put_char(token, '.');
    put_base64url(claims, token);
    digester_begin(digester);
    digester_add(digester, buf_str(token));
    digester_end(digester, digest);
    buf_put_char(token, '.');
    put_base64url((struct str){(const char *)digest, 32}, token);
}

static void tell(void *argument, const char *step, const char *text)
{
    (void)argument;
    if (!step[0] || !text[0])
        abort();
}

static enum verify_result judge(struct verify_scheme *scheme, struct str token, struct str body)
{
    struct header header = {STR("J"), token};
    struct request request = {.method = STR("POST"),
                              .target = STR("/in"),
                              .query = STR("a=b"),
                              .headers = &header,
                              .header_count = 1,
                              .body = body,
                              .received_us = INT64_C(1700000000000000)};

    verify_explain(scheme, &request, tell, NULL);
    return verify_request(scheme, &request, NULL);
}

/* Whether the text has an "alg" that is HS256, by the scanner alone. */
static bool names_hs256(struct str header)
{
    struct str pointer = STR("/alg");
    struct json_value value = {JSON_KIND_ABSENT, STR_NONE};
    struct arena *arena = arena_new(64);
    struct json_scan scan;
    struct err err;
    struct json_paths *paths = json_paths_new(&pointer, 1, &err);
    bool names = json_scan(header, paths, JSON_DEPTH_DEFAULT, &scan, &value) &&
                 value.kind == JSON_KIND_STRING &&
                 str_is(json_string_text(value.text, arena).bytes, "HS256");

    json_paths_free(paths);
    arena_free(arena);
    return names;
}

static void try_settings(const struct str fields[FIELDS])
{
    struct verify_spec spec = spec_of(fields[1], fields[2]);
    struct verify_scheme *scheme;
    bool said = false;

    spec.algorithms = fields[0];
    scheme = verify_scheme_new(&spec, ignore, &said);
    if (!scheme != said)
        abort();
    verify_scheme_free(scheme);
    spec = spec_of(STR_NONE, STR_NONE);
    spec.signature = fields[0];
    spec.secret_encoding = STR("jwk");
    spec.algorithms = STR("ES256 RS256");
    spec.secrets = &fields[2];
    said = false;
    scheme = verify_scheme_new(&spec, ignore, &said);
    if (!scheme != said)
        abort();
    verify_scheme_free(scheme);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str fields[FIELDS];
    struct buf token;

    if (!digester)
        prepare();
    fields_cut(data, size, fields, FIELDS);
    buf_init(&token, BUF_NO_CAP);
    sign(fields[0], fields[1], &token);
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        enum verify_result result = judge(schemes[i], fields[0], fields[2]);

        if (result != VERIFY_BAD && result != VERIFY_MISSING)
            abort();
        result = judge(schemes[i], buf_str(&token), fields[2]);
        if (result != VERIFY_BAD && !names_hs256(fields[0]))
            abort();
    }
    try_settings(fields);
    buf_release(&token);
    fields_free(fields, FIELDS);
    return 0;
}
