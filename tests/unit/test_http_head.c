/* What is refused of a request's header, read from the bytes as they come in and from its parts;
 * and that the verdict does not depend on how many bytes there were at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "http/head.h"

#define LIMIT ((size_t)4096)
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct example {
    struct str bytes;
    enum http_fault fault;
    bool whole;
} examples[] = {
    {TEXT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("\r\n\nGET / HTTP/1.1\nHost: x\n\nbody"), HTTP_NO_FAULT, true},
    {TEXT("GET / HTTP/1.0\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\r\0\n"), HTTP_NO_FAULT, true},
    {TEXT(""), HTTP_NO_FAULT, false},
    {TEXT("GET / HTTP/1.1\r\nHost: x\r\n\r"), HTTP_NO_FAULT, false},
    {TEXT("GET / HTTP/1.1\r\nHost: x"), HTTP_NO_FAULT, false},
    {TEXT("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("GET HTTPS://a/b HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("GET / HTTP/1.1\r\n\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET * HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET a HTTP/1.1\r\nHost: x\r\n\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET  / HTTP/1.1\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.1 \r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET /\x7f"), HTTP_BAD_FRAMING, false},
    {TEXT("GET /\rX"), HTTP_BAD_FRAMING, false},
    {TEXT("GET"), HTTP_NO_FAULT, false},
    {TEXT("GET\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT(" GET"), HTTP_BAD_FRAMING, false},
    {TEXT("\x16\x03\x01"), HTTP_BAD_FRAMING, false},
    {TEXT("\r\n\r\n\0"), HTTP_BAD_FRAMING, false},
    {TEXT("GET /\x01 HTTP/2.0\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/2.0\r\n"), HTTP_BAD_VERSION, false},
    {TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HTTP_BAD_VERSION, false},
    {TEXT("GET / HTTP/1.10\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF / HTTP/1.0\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.0\r\n\r\n"), HTTP_BAD_METHOD, false},
    {TEXT("GET / HTTP/1.0\r\nA : b\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nA: b\r\n c\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nA: b\0"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nA: b\rc"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nA: b\x02\x7f\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("GET / HTTP/1.0\r\nA: \tb\t\r\n\r\n"), HTTP_NO_FAULT, true},
    {TEXT("GET / HTTP/1.0\r\nContent-Length: 3 \r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nContent-Length: 3\r\nContent-Length: 4\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\n: b\r\n"), HTTP_BAD_FRAMING, false},
    {TEXT("GET / HTTP/1.0\r\nA(: b\r\n"), HTTP_BAD_FRAMING, false},
};

/* The verdict of bytes that come one by one, each look at a block of just that size. */
static struct http_scan one_by_one(struct str bytes)
{
    struct http_scan scan = {.fault = HTTP_NO_FAULT};

    for (size_t len = 1; len <= bytes.len && scan.fault == HTTP_NO_FAULT && !scan.whole; len++) {
        char *copy = malloc(len);

        assert_non_null(copy);
        memcpy(copy, bytes.ptr, len);
        scan = http_head_scan((struct str){copy, len}, LIMIT);
        free(copy);
    }
    return scan;
}

static void check(struct str bytes, enum http_fault fault, bool whole)
{
    struct http_scan at_once = http_head_scan(bytes, LIMIT), in_pieces = one_by_one(bytes);

    if (at_once.fault != fault || at_once.whole != whole || in_pieces.fault != fault ||
        in_pieces.whole != whole)
        fail_msg("%.60s: fault %d, whole %d; in pieces fault %d, whole %d", bytes.ptr,
                 at_once.fault, at_once.whole, in_pieces.fault, in_pieces.whole);
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(examples[i].bytes, examples[i].fault, examples[i].whole);
}

/* `count` times `unit` between two texts. */
static struct str repeat(char *space, const char *before, const char *unit, size_t count,
                         const char *behind)
{
    char *p = stpcpy(space, before);

    for (size_t i = 0; i < count; i++)
        p = stpcpy(p, unit);
    p = stpcpy(p, behind);
    return (struct str){space, (size_t)(p - space)};
}

static void test_limits(void **state)
{
    static const char end[] = " HTTP/1.0\r\n\r\n";
    static char space[4 * LIMIT];

    (void)state;
    check(repeat(space, "GET /", "a", 3000, end), HTTP_NO_FAULT, true);
    check(repeat(space, "GET /", "a", 3100, end), HTTP_TARGET_TOO_LONG, false);
    check(repeat(space, "", "a", 3100, ""), HTTP_TARGET_TOO_LONG, false);
    check(repeat(space, "", "\r\n", 1600, end), HTTP_TARGET_TOO_LONG, false);
    check(repeat(space, "GET /?", "a&", 10, end), HTTP_NO_FAULT, true);
    check(repeat(space, "GET /?", "a&", 60, end), HTTP_TARGET_TOO_LONG, false);
    check(repeat(space, "GET / HTTP/1.0\r\nA: ", "b", 2900, "\r\n\r\n"), HTTP_NO_FAULT, true);
    check(repeat(space, "GET / HTTP/1.0\r\nA: ", "b", 3100, "\r\n\r\n"), HTTP_HEADER_TOO_LARGE,
          false);
    check(repeat(space, "GET / HTTP/1.0\r\n", "A: b\r\n", 30, "\r\n"), HTTP_NO_FAULT, true);
    check(repeat(space, "GET / HTTP/1.0\r\n", "A: b\r\n", 50, "\r\n"), HTTP_HEADER_TOO_LARGE,
          false);
    check(repeat(space, "GET / HTTP/1.0\r\nCookie: ", "a;", 20, "\r\n\r\n"), HTTP_NO_FAULT, true);
    check(repeat(space, "GET / HTTP/1.0\r\nCookie: ", "a;", 60, "\r\n\r\n"), HTTP_HEADER_TOO_LARGE,
          false);
    /* What is wrong beyond the limit does not matter any more. */
    check(repeat(space, "GET /", "a", 3100, "\x01"), HTTP_TARGET_TOO_LONG, false);
    check(repeat(space, "GET / HTTP/1.0\r\nA: ", "b", 3100, "\r \r\n"), HTTP_HEADER_TOO_LARGE,
          false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
