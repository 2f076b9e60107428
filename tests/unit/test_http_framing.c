/* What makes a request's framing ambiguous. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "http/framing.h"
#include "http/request.h"

struct example {
    const char *label;
    struct http_header headers[3];
    size_t count;
    bool old;
    struct http_framing expected;
};

#define H(name, value)                                                                             \
    {                                                                                              \
        {name, sizeof(name) - 1},                                                                  \
        {                                                                                          \
            value, sizeof(value) - 1                                                               \
        }                                                                                          \
    }

static const struct example examples[] = {
    {"no body", {H("Host", "x")}, 1, false, {.length = -1}},
    {"length", {H("Content-Length", "17")}, 1, false, {.length = 17}},
    {"case of names", {H("CONTENT-length", "17")}, 1, false, {.length = 17}},
    {"twice the same",
     {H("Content-Length", "2"), H("Content-Length", "2")},
     2,
     false,
     {.length = 2}},
    {"two lengths",
     {H("Content-Length", "2"), H("Content-Length", "3")},
     2,
     false,
     {.ambiguous = true, .length = 3}},
    {"equal numbers, other digits",
     {H("Content-Length", "2"), H("Content-Length", "02")},
     2,
     false,
     {.ambiguous = true, .length = 2}},
    {"a list", {H("Content-Length", "2, 2")}, 1, false, {.ambiguous = true, .length = -1}},
    {"a sign", {H("Content-Length", "+2")}, 1, false, {.ambiguous = true, .length = -1}},
    {"empty", {H("Content-Length", "")}, 1, false, {.ambiguous = true, .length = -1}},
    {"too large",
     {H("Content-Length", "18446744073709551617")},
     1,
     false,
     {.ambiguous = true, .length = -1}},
    {"chunked", {H("Transfer-Encoding", "Chunked")}, 1, false, {.chunked = true, .length = -1}},
    {"chunked in 1.0",
     {H("Transfer-Encoding", "chunked")},
     1,
     true,
     {.ambiguous = true, .chunked = true, .length = -1}},
    {"chunked twice",
     {H("Transfer-Encoding", "chunked"), H("Transfer-Encoding", "chunked")},
     2,
     false,
     {.ambiguous = true, .chunked = true, .length = -1}},
    {"another coding",
     {H("Transfer-Encoding", "chunked, gzip")},
     1,
     false,
     {.ambiguous = true, .chunked = true, .length = -1}},
    {"length and chunked",
     {H("Content-Length", "5"), H("Transfer-Encoding", "chunked")},
     2,
     false,
     {.ambiguous = true, .chunked = true, .length = 5}},
    {"blank before the colon",
     {H("Transfer-Encoding ", "chunked")},
     1,
     false,
     {.ambiguous = true, .length = -1}},
    {"blank inside", {H("X A", "1")}, 1, false, {.ambiguous = true, .length = -1}},
    {"no name", {H("", "1")}, 1, false, {.ambiguous = true, .length = -1}},
    {"expect", {H("Expect", "100-Continue")}, 1, false, {.length = -1, .expect = true}},
    {"expect in 1.0", {H("Expect", "100-continue")}, 1, true, {.length = -1}},
};

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const struct example *example = &examples[i];
        struct http_framing got = http_framing_read(example->headers, example->count, example->old);

        if (got.ambiguous != example->expected.ambiguous ||
            got.chunked != example->expected.chunked || got.length != example->expected.length ||
            got.expect != example->expected.expect)
            fail_msg("%s: ambiguous %d, chunked %d, length %lld, expect %d", example->label,
                     got.ambiguous, got.chunked, (long long)got.length, got.expect);
    }
}

static void test_in_place(void **state)
{
    const char line[] = "X-A: \t1\r\n folded";

    (void)state;
    assert_true(http_framing_in_place((struct str){line, 3}, (struct str){line + 6, 1}));
    assert_true(http_framing_in_place((struct str){line, 3}, (struct str){line + 4, 3}));
    assert_false(http_framing_in_place((struct str){line, 3}, (struct str){line + 7, 1}));
    assert_false(http_framing_in_place((struct str){line + 4, 3}, (struct str){line, 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
