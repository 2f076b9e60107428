/* Captured requests: what is taken for one, and what is left of its body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "diagnose/captured.h"

static void assert_str(struct str got, const char *want)
{
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static struct captured read(struct arena *arena, const char *text)
{
    struct captured captured;
    struct err err = {0};

    if (captured_read(str_from(text), arena, &captured, &err) < 0)
        fail_msg("%s", err.text);
    return captured;
}

static void test_a_request_as_it_was_sent(void **state)
{
    struct arena *arena = arena_new(1024);
    struct captured captured = read(arena, "POST /webhooks/a?x=1&y HTTP/1.1\r\nHost: b\r\n"
                                           "X-Sig:\t ab \r\nEmpty:\r\nContent-Length: 5\r\n\r\n"
                                           "a\r\nb\n");
    const struct request *request = &captured.request;

    (void)state;
    assert_str(request->method, "POST");
    assert_str(request->target, "/webhooks/a?x=1&y");
    assert_str(request->query, "x=1&y");
    assert_int_equal(request->header_count, 4);
    assert_str(request->headers[1].name, "X-Sig");
    assert_str(request->headers[1].value, "ab");
    assert_str(request->headers[2].value, "");
    assert_str(request->body, "a\r\nb\n");
    assert_false(captured.lf_only || captured.chunked);
    assert_int_equal(captured.content_length, 5);
    assert_int_equal(captured.file_body, 5);
    arena_free(arena);
}

static void test_line_feeds_alone_and_an_empty_line_in_front(void **state)
{
    struct arena *arena = arena_new(1024);
    struct captured captured = read(arena, "\nPOST /a HTTP/1.0\nX-Sig: ab\n\n{}\n");

    (void)state;
    assert_true(captured.lf_only);
    assert_null(captured.request.query.ptr);
    assert_str(captured.request.body, "{}\n");
    assert_int_equal(captured.content_length, -1);
    arena_free(arena);
}

static void test_a_folded_header_is_one(void **state)
{
    struct arena *arena = arena_new(1024);
    struct captured captured = read(arena, "POST /a HTTP/1.1\r\nX: a,\r\n  b\r\n\tc\r\n\r\n");

    (void)state;
    assert_int_equal(captured.request.header_count, 1);
    assert_str(captured.request.headers[0].value, "a, b c");
    assert_str(captured.request.body, "");
    arena_free(arena);
}

static void test_what_is_beyond_content_length_is_left_out(void **state)
{
    struct arena *arena = arena_new(1024);
    struct captured captured = read(arena, "POST /a HTTP/1.1\ncontent-length: 2\n\n{}\n");

    (void)state;
    assert_str(captured.request.body, "{}");
    assert_int_equal(captured.file_body, 3);
    captured = read(arena, "POST /a HTTP/1.1\ncontent-length: 9\n\n{}\n");
    assert_str(captured.request.body, "{}\n");
    arena_free(arena);
}

#define CHUNKED "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

static void test_chunks_are_put_together(void **state)
{
    struct arena *arena = arena_new(1024);
    struct captured captured = read(
        arena, CHUNKED "3\r\n{\"a\r\nA;x=y\r\n\": \"\r\nbcde\r\n2\r\n\"}\r\n0\r\nT: x\r\n\r\n");

    (void)state;
    assert_true(captured.chunked);
    assert_str(captured.request.body, "{\"a\": \"\r\nbcde\"}");
    captured = read(arena, CHUNKED "2\n{}\n0\n\n");
    assert_true(captured.chunked);
    assert_str(captured.request.body, "{}");
    arena_free(arena);
}

static void test_chunks_that_were_put_together_already(void **state)
{
    static const char *const bodies[] = {"{\"a\":1}", "", "5\r\nabc", "3\r\nabcd\r\n0\r\n\r\n",
                                         "ffffffffffffffff\r\n{}"};
    struct arena *arena = arena_new(1024);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct captured captured = read(arena, arena_printf(arena, "%s%s", CHUNKED, bodies[i]));

        assert_false(captured.chunked);
        assert_str(captured.request.body, bodies[i]);
    }
    arena_free(arena);
}

#define NO_LINE "is no HTTP request: it has no line such as POST /webhooks/NAME HTTP/1.1"
#define NOT_LINE(n)                                                                                \
    "is no HTTP request: line " n " is not METHOD TARGET HTTP/1.1, such as POST /webhooks/NAME "   \
    "HTTP/1.1"

static const struct {
    const char *text, *why;
} wrong[] = {
    {"", NO_LINE},
    {"\r\n\r\n", NO_LINE},
    {"POST /a HTTP/1.1", NO_LINE},
    {"{\"id\":1}\n", NOT_LINE("1")},
    {"\nPOST /a\n\n", NOT_LINE("2")},
    {"POST  HTTP/1.1\n\n", NOT_LINE("1")},
    {"POST /a FTP/1.1\n\n", NOT_LINE("1")},
    {"POST /a HTTP/1.1\nA: b\n",
     "has no end of its head: an empty line stands between the headers and the body"},
    {"POST /a HTTP/1.1\nA: b\n{}\n\n", "has a header that is not NAME: VALUE in line 3"},
    {"POST /a HTTP/1.1\nA : b\n\n", "has a header that is not NAME: VALUE in line 2"},
    {"POST /a HTTP/1.1\n: b\n\n", "has a header that is not NAME: VALUE in line 2"},
    {"POST /a HTTP/1.1\n b\n\n", "has a header that is not NAME: VALUE in line 2"},
};

static void test_what_is_no_request(void **state)
{
    struct arena *arena = arena_new(1024);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct captured captured;
        struct err err = {0};

        assert_int_equal(captured_read(str_from(wrong[i].text), arena, &captured, &err), -1);
        assert_string_equal(err.text, wrong[i].why);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_as_it_was_sent),
        cmocka_unit_test(test_line_feeds_alone_and_an_empty_line_in_front),
        cmocka_unit_test(test_a_folded_header_is_one),
        cmocka_unit_test(test_what_is_beyond_content_length_is_left_out),
        cmocka_unit_test(test_chunks_are_put_together),
        cmocka_unit_test(test_chunks_that_were_put_together_already),
        cmocka_unit_test(test_what_is_no_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
