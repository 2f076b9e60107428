/* JSON Web Tokens for the tests, made by OpenSSL's own interface, and schemes that judge them. */
#ifndef TESTS_TOKENS_H
#define TESTS_TOKENS_H

#include <stdio.h>

#include "requests.h"
#include "schemes.h"
#include "signer.h"

#define K0 "k0-k0-k0-k0-k0-k0-k0-k0"
#define K1 "k1-k1-k1-k1-k1-k1-k1-k1"
#define BODY "{\"id\":\"e1\"}"
#define URL "https://h.example/in"

/* ---- tokens ---- */

UNUSED static char *encode(const char *text)
{
    char *out = mem_alloc(CODEC_BASE64_SIZE(strlen(text)));

    codec_base64_encode(text, strlen(text), true, out);
    out[strcspn(out, "=")] = '\0';
    return out;
}

/* "HEADER.CLAIMS", both in base64url; lives until the next call. */
UNUSED static const char *signed_part(const char *header, const char *claims)
{
    static char text[30000];
    char *first = encode(header), *second = encode(claims);

    snprintf(text, sizeof(text), "%s.%s", first, second);
    free(first);
    free(second);
    return text;
}

/* Lives until the next call. */
UNUSED static const char *with_signature(const char *part, const unsigned char *signature,
                                         size_t len)
{
    static char token[40000];

    snprintf(token, sizeof(token), "%s.%s", part, signer_base64(signature, len, true, false).ptr);
    return token;
}

UNUSED static const char *keyed(const EVP_MD *md, struct str key, const char *header,
                                const char *claims)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    const char *part = signed_part(header, claims);

    assert_non_null(
        HMAC(md, key.ptr, (int)key.len, (const unsigned char *)part, strlen(part), digest, &len));
    return with_signature(part, digest, len);
}

#define HS256 "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"

UNUSED static const char *hs256(const char *claims)
{
    return keyed(EVP_sha256(), STR(K0), HS256, claims);
}

/* ---- schemes ---- */

/* What is not said is as follows; "" is not set. */
struct scheme {
    const char *signature;  /* header:J */
    const char *algorithms; /* HS256 */
    const char *claims, *timestamp;
    const char *url;      /* URL */
    const char *encoding; /* raw */
    bool covered;         /* body_unauthenticated = no */
    int leeway_s;
    const struct str *secrets; /* K0 */
    size_t secret_count;
};

UNUSED static struct str text_or(const char *text, const char *otherwise)
{
    return !text ? str_from(otherwise) : text[0] ? str_from(text) : STR_NONE;
}

UNUSED static struct verify_spec spec_of(const struct scheme *scheme)
{
    static const struct str k0 = STR(K0);

    return (struct verify_spec){
        .algorithm = STR("jwt"),
        .signature = text_or(scheme->signature, "header:J"),
        .algorithms = text_or(scheme->algorithms, "HS256"),
        .claims = str_from(scheme->claims),
        .timestamp = str_from(scheme->timestamp),
        .public_url = text_or(scheme->url, URL),
        .secret_encoding = text_or(scheme->encoding, "raw"),
        .body_unauthenticated = scheme->covered ? STR("no") : STR("yes"),
        .tolerance = {300000, 300000},
        .leeway_ms = scheme->leeway_s * 1000,
        .secrets = scheme->secrets ? scheme->secrets : &k0,
        .secret_count = scheme->secrets ? scheme->secret_count : 1,
    };
}

UNUSED static void judge_as(const struct scheme *scheme, const char *token, enum verify_result want,
                            size_t want_secret)
{
    struct verify_spec spec = spec_of(scheme);
    struct verify_scheme *made = scheme_new(&spec);
    struct test_request test;
    size_t secret = 99;

    request_begin(&test, STR(BODY));
    test.request.query = request_keep(&test, STR("a=b"));
    request_add(&test, "J", str_from(token));
    if (verify_request(made, &test.request, &secret) != want)
        fail_msg("%s: not %d", token, (int)want);
    assert_int_equal(secret, want == VERIFY_VALID || want == VERIFY_STALE ? want_secret : 99);
    request_end(&test);
    verify_scheme_free(made);
}

UNUSED static void judge(const struct scheme *scheme, const char *token, enum verify_result want)
{
    judge_as(scheme, token, want, 0);
}

#endif
