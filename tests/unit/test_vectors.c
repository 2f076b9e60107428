/* The known answers of data/signature_vectors.json: what the providers' own SDKs, samples and
 * documentation sign, valid and invalid. Each vector becomes a section of the configuration, and is
 * judged at its own time. The event itself is no matter: format raw, identity by digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/codec.h"
#include "provider/provider.h"

#define HEADERS_MAX 16
#define BODY_MAX 65536
#define SECRETS_MAX 4

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- a vector's section ---- */

/* "header:X" stays, "item:t=" is written "item t=", the only one of a list stands for it. */
static void put_place(struct buf *out, const json_t *from)
{
    const char *place = json_string_value(json_is_array(from) ? json_array_get(from, 0) : from);

    if (strncmp(place, "item:", 5) == 0)
        buf_printf(out, "item %s", place + 5);
    else
        buf_printf(out, "%s", place);
}

static void put_signature(struct buf *out, const json_t *rule)
{
    const char *split = text_of(rule, "split"), *prefix = text_of(rule, "prefix");

    buf_printf(out, "signature = ");
    put_place(out, json_object_get(rule, "from"));
    if (split)
        buf_printf(out, " split %s",
                   *split == ' '   ? "space"
                   : *split == ',' ? "comma"
                   : *split == ';' ? "semicolon"
                                   : split);
    if (prefix)
        buf_printf(out, " prefix %s", prefix);
    if (text_of(rule, "enc"))
        buf_printf(out, " %s", text_of(rule, "enc"));
    buf_put_char(out, '\n');
}

static void put_time(struct buf *out, const json_t *rule)
{
    json_int_t past = json_integer_value(json_object_get(rule, "past"));
    json_int_t future = json_integer_value(json_object_get(rule, "future"));

    buf_printf(out, "timestamp = ");
    put_place(out, json_object_get(rule, "from"));
    buf_printf(out, " %s\ntolerance = past %llds future %llds\n", text_of(rule, "unit"),
               (long long)past, (long long)future);
}

/* Without the query, which the request brings. */
static void put_url(struct buf *out, const json_t *vector)
{
    const char *url = text_of(vector, "url"), *query = strchr(url, '?');

    buf_printf(out, "public_url = %.*s\n", (int)(query ? (size_t)(query - url) : strlen(url)), url);
}

static void put_template(struct buf *out, const json_t *vector, const json_t *config)
{
    const char *encoding = text_of(vector, "secret_encoding");

    put_signature(out, json_object_get(config, "sig"));
    if (json_object_get(config, "ts"))
        put_time(out, json_object_get(config, "ts"));
    buf_printf(out, "signed = \"%s\"\nsecret_encoding = %s\n", text_of(config, "signed"),
               strcmp(encoding, "spki-base64") == 0 ? "spki" : encoding);
    put_url(out, vector);
}

static void put_token(struct buf *out, const char *scheme, const json_t *rule)
{
    const char *prefix = text_of(rule, "prefix");

    buf_printf(out, "verify = %s\nsignature = ", scheme);
    put_place(out, json_object_get(rule, "from"));
    if (prefix)
        buf_printf(out, " prefix %s", prefix);
    buf_put_char(out, '\n');
}

static char secret_files[SECRETS_MAX][40];

static int make_secret_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SECRETS_MAX; i++) {
        int fd;

        snprintf(secret_files[i], sizeof(secret_files[i]), "/tmp/inboxd_vector_XXXXXX");
        fd = mkstemp(secret_files[i]);
        if (fd < 0)
            return -1;
        close(fd);
    }
    return 0;
}

static int remove_secret_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SECRETS_MAX; i++)
        unlink(secret_files[i]);
    return 0;
}

static void write_secret(size_t i, const char *secret)
{
    FILE *file;

    assert_true(i < SECRETS_MAX);
    file = fopen(secret_files[i], "w");
    assert_non_null(file);
    assert_true(fputs(secret, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Secrets come from files, where any bytes may stand. */
static void put_secrets(struct buf *out, const json_t *secret)
{
    size_t count = json_is_array(secret) ? json_array_size(secret) : 1;

    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(secret) ? json_array_get(secret, i) : secret;

        write_secret(i, json_string_value(one));
        buf_printf(out, "secret = file:%s\n", secret_files[i]);
    }
}

static void put_jwt(struct buf *out, const json_t *config)
{
    json_int_t age = json_integer_value(json_object_get(config, "iat_max_age"));
    const char *issuer = text_of(config, "iss"), *digest = text_of(config, "body_claim");
    json_t *algorithms = json_object_get(config, "algs"), *algorithm;
    size_t i;

    put_token(out, "jwt", json_object_get(config, "sig"));
    buf_printf(out, "algorithms =");
    json_array_foreach (algorithms, i, algorithm)
        buf_printf(out, " %s", json_string_value(algorithm));
    buf_printf(out, "\nclaims =");
    if (issuer)
        buf_printf(out, " iss=%s", issuer);
    if (digest)
        buf_printf(out, " %s={sha256hex:body}", digest);
    if (age)
        buf_printf(out, "\ntimestamp = claim:iat s\ntolerance = %llds", (long long)age);
    buf_printf(out, "\nbody_unauthenticated = %s\n", digest ? "no" : "yes");
}

/* False: there is no such kind. */
static bool put_kind(struct buf *out, const json_t *vector, const json_t *config)
{
    const char *kind = text_of(config, "kind");

    if (strcmp(kind, "token") == 0) {
        put_token(out, "token", json_object_get(config, "sig"));
    } else if (strcmp(kind, "jwt") == 0) {
        put_jwt(out, config);
        buf_printf(out, "secret_encoding = %s\n", text_of(vector, "secret_encoding"));
    } else if (strcmp(kind, "adyen-items") == 0) {
        buf_printf(out, "verify = adyen\n");
    } else if (strcmp(kind, "sns") == 0) {
        buf_printf(out, "verify = sns\n");
    } else if (strcmp(kind, "twilio") == 0) {
        buf_printf(out, "verify = twilio\n");
        put_url(out, vector);
    } else {
        return false;
    }
    return true;
}

static void put_section(struct buf *out, const json_t *vector)
{
    const json_t *config = json_object_get(vector, "config");
    const char *kind = text_of(config, "kind"), *hash = text_of(config, "hash");

    buf_printf(out, "[provider v]\nformat = raw\nevent_id = sha256\non = ignore\n");
    put_secrets(out, json_object_get(vector, "secret"));
    if (put_kind(out, vector, config))
        return;
    if (strstr(kind, "hmac") && !strstr(text_of(config, "signed"), "{body}"))
        buf_printf(out, "body_unauthenticated = yes\n");
    if (strcmp(kind, "hmac") == 0)
        buf_printf(out, "verify = hmac-%s\n", hash);
    else if (strcmp(kind, "digest") == 0)
        buf_printf(out, "verify = %s\n", hash);
    else if (strcmp(kind, "ed25519") == 0)
        buf_printf(out, "verify = ed25519\n");
    else if (strcmp(kind, "ecdsa-sha256") == 0)
        buf_printf(out, "verify = ecdsa-p256-sha256\n");
    else
        fail_msg("%s: there is no kind %s", text_of(vector, "id"), kind);
    put_template(out, vector, config);
}

/* ---- its request ---- */

struct call {
    struct header headers[HEADERS_MAX];
    unsigned char body[BODY_MAX];
    struct request request;
};

static void put_header(struct call *call, const char *name, const json_t *value)
{
    assert_true(call->request.header_count < HEADERS_MAX);
    call->headers[call->request.header_count++] =
        (struct header){str_from(name), str_from(json_string_value(value))};
}

static void read_call(const json_t *vector, struct call *call)
{
    const char *url = text_of(vector, "url"), *query = strchr(url, '?'), *name;
    ssize_t len = codec_base64_decode(str_from(text_of(vector, "body_base64")), BASE64_STRICT,
                                      call->body, BODY_MAX);
    json_t *headers = json_object_get(vector, "headers"), *value;

    assert_true(len >= 0);
    call->request = (struct request){
        .method = str_from(text_of(vector, "method")),
        .target = str_from(strchr(strstr(url, "://") + 3, '/')),
        .query = query ? str_from(query + 1) : STR_NONE,
        .headers = call->headers,
        .body = {(const char *)call->body, (size_t)len},
        .received_us = json_integer_value(json_object_get(vector, "now")) * 1000000,
    };
    json_object_foreach (headers, name, value) {
        if (json_is_string(value))
            put_header(call, name, value);
        for (size_t i = 0; i < json_array_size(value); i++)
            put_header(call, name, json_array_get(value, i));
    }
}

/* ---- the verdict ---- */

static void show(const char *id, const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning)
            print_error("%s: line %d: %s\n", id, mistakes_get(mistakes, i)->line,
                        mistakes_get(mistakes, i)->text);
}

/* A section that cannot be used refuses everything: only right for a secret that must be refused.
 */
static bool is_valid(const json_t *vector, struct str section)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("vector.conf", section, mistakes);
    struct provider *provider = config ? provider_new(&config->providers[0], mistakes) : NULL;
    struct arena *arena = arena_new(1024);
    static struct call call;
    struct provider_events events;
    bool valid = false;

    if (provider) {
        read_call(vector, &call);
        valid = provider_read(provider, &call.request, arena, &events) == REFUSAL_NONE;
        assert_true(!valid || events.list[0].signature_verified);
    } else if (json_string_value(json_object_get(vector, "secret"))[0]) {
        show(text_of(vector, "id"), mistakes);
        fail();
    }
    arena_free(arena);
    provider_free(provider);
    config_unref(config);
    mistakes_free(mistakes);
    return valid;
}

static void test_every_vector(void **state)
{
    json_t *vectors = json_load_file(TEST_DATA "/signature_vectors.json", 0, NULL), *vector;
    size_t i;

    (void)state;
    assert_non_null(vectors);
    json_array_foreach (vectors, i, vector) {
        bool expected = strcmp(text_of(vector, "expect"), "valid") == 0;
        struct buf section;

        buf_init(&section, BUF_NO_CAP);
        put_section(&section, vector);
        if (is_valid(vector, buf_str(&section)) != expected)
            fail_msg("%s: expected to be %s: %s", text_of(vector, "id"), text_of(vector, "expect"),
                     text_of(vector, "why"));
        buf_release(&section);
    }
    assert_int_equal(json_array_size(vectors), 139);
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_vector),
    };

    return cmocka_run_group_tests(tests, make_secret_files, remove_secret_files);
}
