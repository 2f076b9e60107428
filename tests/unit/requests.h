/* Requests for the tests of verification and providers: built from texts, signed independently of
 * src/verify, with their bytes in memory of exactly their size, so that a read outside shows under
 * the sanitizers. */
#ifndef TESTS_REQUESTS_H
#define TESTS_REQUESTS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/attr.h"
#include "base/codec.h"
#include "core/request.h"

#define NOW_S 1700000000
#define REQUEST_HEADERS_MAX 64

struct test_request {
    struct request request;
    struct header headers[REQUEST_HEADERS_MAX];
    void *owned[REQUEST_HEADERS_MAX * 4];
    size_t owned_count;
};

/* A copy that lives as long as the request. */
UNUSED static struct str request_keep(struct test_request *test, struct str s)
{
    char *bytes = malloc(s.len ? s.len : 1);

    if (!bytes || test->owned_count == ARRAY_LEN(test->owned))
        abort();
    if (s.len)
        memcpy(bytes, s.ptr, s.len);
    test->owned[test->owned_count++] = bytes;
    return (struct str){bytes, s.len};
}

UNUSED static void request_begin(struct test_request *test, struct str body)
{
    memset(test, 0, sizeof(*test));
    test->request = (struct request){.method = STR("POST"),
                                     .target = STR("/webhooks/p"),
                                     .headers = test->headers,
                                     .body = request_keep(test, body),
                                     .received_us = (int64_t)NOW_S * 1000000};
}

UNUSED static void request_end(struct test_request *test)
{
    for (size_t i = 0; i < test->owned_count; i++)
        free(test->owned[i]);
}

UNUSED static void request_add(struct test_request *test, const char *name, struct str value)
{
    if (test->request.header_count == REQUEST_HEADERS_MAX)
        abort();
    test->headers[test->request.header_count++] =
        (struct header){str_from(name), request_keep(test, value)};
}

UNUSED static void request_addf(struct test_request *test, const char *name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
UNUSED static void request_addf(struct test_request *test, const char *name, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        abort();
    request_add(test, name, str_from(text));
    free(text);
}

/* HMAC by OpenSSL's own interface, as hexadecimal in lower case; lives as long as the request. */
UNUSED static const char *hmac_hex(struct test_request *test, const EVP_MD *md, struct str key,
                                   struct str message)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char text[CODEC_HEX_SIZE(EVP_MAX_MD_SIZE)];

    if (!HMAC(md, key.ptr, (int)key.len, (const unsigned char *)message.ptr, message.len, digest,
              &len))
        abort();
    codec_hex_encode(digest, len, text);
    return request_keep(test, (struct str){text, strlen(text) + 1}).ptr;
}

/* The same as base64. */
UNUSED static const char *hmac_base64(struct test_request *test, const EVP_MD *md, struct str key,
                                      struct str message)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char text[CODEC_BASE64_SIZE(EVP_MAX_MD_SIZE)];

    if (!HMAC(md, key.ptr, (int)key.len, (const unsigned char *)message.ptr, message.len, digest,
              &len))
        abort();
    codec_base64_encode(digest, len, false, text);
    return request_keep(test, (struct str){text, strlen(text) + 1}).ptr;
}

#endif
