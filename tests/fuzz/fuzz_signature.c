/* Any bytes as what a sender offers: signature, timestamp, query and body of a request that was not
 * signed with our secret. No crash, no read outside, and never a valid verdict; and the same
 * request signed by us is valid under every scheme that can sign. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "fields.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_US (1700000000 * INT64_C(1000000))
#define FIELDS 5

static const struct {
    const char *algorithm, *signature, *timestamp, *signed_template, *encoding;
} specs[] = {
    {"hmac-sha256", "header:S hex", NULL, "{body}", "raw"},
    {"hmac-sha1", "header:S-* base64", NULL, "{body}", "raw"},
    {"hmac-sha512", "header:S base64url repeat any", NULL, "{sha256hex:body}", "raw"},
    {"hmac-sha256", "header:S split comma prefix v1= hex", "item t= s", "{ts}.{body}", "raw"},
    {"hmac-sha256", "header:S split space prefix v1, base64", "header:T ms", "{query:q}{ts}{body}",
     "raw"},
    {"hmac-sha256", "header:S hex", "header:T iso8601", "{ts}{body}", "raw"},
    {"hmac-sha256", "json:/s hex", "json:/t s", "{json:/t}{json:/q}", "raw"},
    {"sha256", "query:s hex", NULL, "{secret}{method}{body}", "raw"},
    {"hmac-sha256", "header:S hex | header:S-* split comma prefix v1= base64 | header:U hex",
     "header:T s", "{method}{ts}{body}", "raw"},
    {"hmac-sha256", "header:S hex", NULL, "{url:decoded}{var:id}{body}", "raw"},
    {"hmac-sha256", "header:S hex", "header:T s", "{ts}|{var:id}|{crc32:body}", "raw"},
    {"ed25519", "header:S split comma hex", NULL, "{body}", "ed25519-hex"},
    {"ecdsa-p256-sha256", "header:S base64 repeat any", "header:T s", "{ts}{body}", "spki"},
    {"rsa-sha256", "header:S base64 | query:s base64", NULL, "{body}", "spki"},
};

static struct verify_scheme *schemes[ARRAY_LEN(specs)];

static void never(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    (void)field;
    (void)index;
    (void)text;
    abort();
}

static bool covers_body(const char *signed_template)
{
    return strstr(signed_template, "{body}") || strstr(signed_template, "{sha256hex:body}");
}

static void make_schemes(void)
{
    static const struct {
        const char *algorithm, *key;
    } keys[] = {
        {"ed25519", "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"},
        {"ecdsa-p256-sha256", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/"
                              "7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="},
        {"rsa-sha256",
         "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtoRezxI2qqnqdaCa52n+"
         "Lj21P0kPQwCL4d88ZxiyukhhgP2xPpJNptJu4Qn5k71W6auo/8j3059D3rpz4dajkQSNg607XZmXj5Vaf6a8/"
         "IQKfT90qKcdrvMeGxDxY9jDuJUXGLmbMETconibNF1Ya2KadNh93pDkrREqpOnROYEtdZm3BVoUnz/"
         "6DAb1fMq91KRn/"
         "iE6Fc9c7mXoghWfSXtJOj5ileo9gSHsm7tdr1m4oW8AVtL6DlZWHw9Y1ZHu3l7R1g3HYDTe60sgAw6pk8yxPHNsWc"
         "UL5k3kmebbWY6n7wwNtVKh6jLkv0z8wgMdW1kBzwOwNw4FI8hN3dCYEQIDAQAB"}};
    struct str secret = STR("0123456789abcdef0123456789abcdef");

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct verify_spec spec = {
            .algorithm = str_from(specs[i].algorithm),
            .signature = str_from(specs[i].signature),
            .timestamp = str_from(specs[i].timestamp),
            .signed_template = str_from(specs[i].signed_template),
            .secret_encoding = str_from(specs[i].encoding),
            .body_unauthenticated = covers_body(specs[i].signed_template) ? STR("no") : STR("yes"),
            .public_url = STR("https://example.com/in"),
            .vars = strstr(specs[i].signed_template, "{var:") ? STR("id=WH-1") : STR_NONE,
            .tolerance = {300000, 300000},
            .secrets = &secret,
            .secret_count = 1};

        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            if (strcmp(keys[k].algorithm, specs[i].algorithm) == 0)
                secret = str_from(keys[k].key);
        schemes[i] = verify_scheme_new(&spec, never, NULL);
    }
}

static void sign_and_check(struct verify_scheme *scheme, struct request request,
                           const struct header *sent)
{
    struct header headers[4] = {sent[0], sent[1]};
    struct arena *arena = arena_new(1024);
    size_t count = 0, secret = 9;
    struct err err;

    request.headers = headers;
    request.header_count = 0;
    if (verify_sign(scheme, &request, 0, false, arena, headers, 4, &count, &err) == 0) {
        request.header_count = count;
        if (verify_request(scheme, &request, &secret) != VERIFY_VALID || secret != 0)
            abort();
    }
    if (verify_sign(scheme, &request, 0, true, arena, headers, 4, &count, &err) == 0) {
        request.header_count = count;
        if (verify_request(scheme, &request, NULL) != VERIFY_BAD)
            abort();
    }
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str fields[FIELDS];
    struct header headers[4];
    struct request request = {.method = STR("POST"), .target = STR("/in"), .headers = headers};

    if (!schemes[0])
        make_schemes();
    fields_cut(data, size, fields, FIELDS);
    headers[0] = (struct header){STR("S"), fields[0]};
    headers[1] = (struct header){STR("T"), fields[1]};
    headers[2] = (struct header){STR("S-1"), fields[0]};
    headers[3] = (struct header){fields[3], fields[0]};
    request.header_count = 4;
    request.query = fields[2].len ? fields[2] : STR_NONE;
    request.body = fields[4];
    request.received_us = NOW_US;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        size_t secret = 9;
        enum verify_result result = verify_request(schemes[i], &request, &secret);

        if (result == VERIFY_VALID || result == VERIFY_STALE || secret != 9)
            abort();
        sign_and_check(schemes[i], request, headers);
    }
    fields_free(fields, FIELDS);
    return 0;
}
