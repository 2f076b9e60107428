/* Where an identity comes from: the grammar, what exists, how parts are joined, and what becomes a
 * digest so that nothing is cut (field reports A19, A26, A27). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/digest.h"
#include "provider/source.h"

#define ABSENT NULL

static const struct header headers[] = {
    {STR("X-Id"), STR("h1")},  {STR("x-twice"), STR("one")},     {STR("X-Twice"), STR("two")},
    {STR("X-Empty"), STR("")}, {STR("X-Latin"), STR("caf\xe9")}, {STR("X-Colon"), STR("a:b\\c")},
};

/* The value of `source` for a request with this body and query. */
static struct str value_of(const char *source, const char *body, const char *query,
                           struct arena *arena)
{
    struct request request = {.headers = headers,
                              .header_count = ARRAY_LEN(headers),
                              .body = str_from(body),
                              .query = str_from(query),
                              .received_us = INT64_C(1700000000123456)};
    struct scope scope = {0};
    struct json_value values[JSON_PATHS_MAX];
    struct source_input input = {
        .request = &request, .body_sha256_hex = STR("5hA"), .arena = arena};
    struct json_paths *paths;
    struct json_scan scan;
    struct err err = {0};
    const struct source *compiled = source_new(str_from(source), &scope, arena, &err);

    if (!compiled)
        fail_msg("%s: %s", source, err.text);
    paths = json_paths_new(scope.lists[SCOPE_EVENT].texts, scope.lists[SCOPE_EVENT].count, &err);
    assert_non_null(paths);
    if (json_scan(request.body, paths, JSON_DEPTH_DEFAULT, &scan, values))
        input.values[SCOPE_EVENT] = values;
    json_paths_free(paths);
    return source_value(compiled, &input);
}

static void check(const char *source, const char *body, const char *query, const char *want)
{
    struct arena *arena = arena_new(1024);
    struct str value = value_of(source, body, query, arena);

    if (!want ? value.ptr != NULL : !value.ptr || !str_is(value, want))
        fail_msg("%s of %s: \"%.*s\", not \"%s\"", source, body, STR_ARG(value),
                 want ? want : "(absent)");
    arena_free(arena);
}

static void test_each_place(void **state)
{
    (void)state;
    check("body:/a/b", "{\"a\":{\"b\":\"x\"}}", NULL, "x");
    check("body:/a/1", "{\"a\":[\"x\",\"y\"]}", NULL, "y");
    check("body:/a~1b", "{\"a/b\":\"x\"}", NULL, "x");
    check("body:", "\"whole\"", NULL, "whole");
    check("header:x-id", "{}", NULL, "h1");
    check("header:X-Missing", "{}", NULL, ABSENT);
    check("query:id", "{}", "a=b&id=q%201+2&c", "q 1 2");
    check("query:id", "{}", "identity=1", ABSENT);
    check("query:id", "{}", NULL, ABSENT);
    check("sha256", "{}", NULL, "5hA");
    check("sha256:header:x-id", "{}", NULL,
          "33112ee14ee469c3eb52fe90322ec81dd404a0093d565a6d71ce77cbc8124e3b");
    check("sha256:header:X-Missing | 'none'", "{}", NULL, "none");
    check("sha256:header:X-Empty", "{}", NULL, ABSENT);
    check("member:/message", "{\"message\":{\"id\":1}}", NULL, "message");
    check("member:/a/b", "{\"a\":{\"b\":[]}}", NULL, "b");
    check("member:/message", "{\"message\":null}", NULL, ABSENT);
    check("member:/a | member:/b + body:/b", "{\"b\":2}", NULL, "b:2");
    check("member:/a", "not json", NULL, ABSENT);
    check("received", "{}", NULL, "1700000000123456");
    check("sha256 + received", "{}", NULL, "5hA:1700000000123456");
    check("'literal text'", "{}", NULL, "literal text");
    check("body:/id", "not json", NULL, ABSENT);
}

static void test_alternatives_and_joins(void **state)
{
    (void)state;
    check("body:/a | body:/b", "{\"b\":\"x\"}", NULL, "x");
    check("body:/a | body:/b", "{\"a\":\"y\",\"b\":\"x\"}", NULL, "y");
    check("body:/a | header:X-Id | sha256", "{}", NULL, "h1");
    check("body:/a + body:/b", "{\"a\":1,\"b\":2}", NULL, "1:2");
    check("body:/a + body:/b", "{\"a\":1}", NULL, ABSENT);
    check("body:/a + body:/b | sha256", "{\"a\":1}", NULL, "5hA");
    check("body:/c | body:/a + body:/b", "{\"a\":1,\"b\":2}", NULL, "1:2");
    check("'v' + body:/a + header:X-Id", "{\"a\":1}", NULL, "v:1:h1");
    check("  body:/a\t+\tbody:/b  ", "{\"a\":1,\"b\":2}", NULL, "1:2");
}

/* Different parts never make the same joined text. A value by itself is never escaped. */
static void test_joined_parts_are_escaped(void **state)
{
    (void)state;
    check("body:/a + body:/b", "{\"a\":\"x:y\",\"b\":\"z\"}", NULL, "x\\:y:z");
    check("body:/a + body:/b", "{\"a\":\"x\",\"b\":\"y:z\"}", NULL, "x:y\\:z");
    check("body:/a + body:/b", "{\"a\":\"x\\\\\",\"b\":\"y\"}", NULL, "x\\\\:y");
    check("body:/a + body:/b", "{\"a\":\"x\\\\:\",\"b\":\"y\"}", NULL, "x\\\\\\::y");
    check("body:/a", "{\"a\":\"x:y\\\\\"}", NULL, "x:y\\");
    check("header:X-Colon", "{}", NULL, "a:b\\c");
    check("header:X-Colon + 'l:'", "{}", NULL, "a\\:b\\\\c:l\\:");
}

static void test_a_header_or_parameter_that_comes_twice_does_not_exist(void **state)
{
    (void)state;
    check("header:X-Twice", "{}", NULL, ABSENT);
    check("header:X-Twice | 'other'", "{}", NULL, "other");
    check("header:X-Empty", "{}", NULL, ABSENT);
    check("query:id", "{}", "id=1&id=1", ABSENT);
    check("query:id", "{}", "id=", ABSENT);
    check("query:id", "{}", "id", ABSENT);
    check("query:id", "{}", "id=%", ABSENT);
}

/* Of two members with the same name the last counts, as in jsonb, however the name is written. */
static void test_a19_the_last_member_of_a_name_counts(void **state)
{
    (void)state;
    check("body:/id", "{\"id\":\"first\",\"id\":\"second\",\"k\":1,\"k\":2}", NULL, "second");
    check("body:/k", "{\"id\":\"first\",\"id\":\"second\",\"k\":1,\"k\":2}", NULL, "2");
    check("body:/id", "{\"id\":\"first\",\"\\u0069d\":\"second\"}", NULL, "second");
    check("body:/a/id", "{\"a\":{\"id\":1},\"a\":{}}", NULL, ABSENT);
    check("body:/id", "{\"id\":\"first\",\"id\":null}", NULL, ABSENT);
}

static void test_a26_what_is_no_identity(void **state)
{
    static const char *const absent[] = {
        "{\"id\":null}", "{\"id\":\"\"}", "{\"id\":{}}", "{\"id\":[]}", "{\"id\":[1]}", "{}", "[]",
        "\"id\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        check("body:/id", absent[i], NULL, ABSENT);
        check("body:/id | sha256", absent[i], NULL, "5hA");
    }
    check("body:/id", "{\"id\":true}", NULL, "true");
    check("body:/id", "{\"id\":false}", NULL, "false");
    check("body:/id", "{\"id\":0}", NULL, "0");
}

/* Numbers keep their digits; 12 and "12" are the same identity. */
static void test_a27_numbers_and_blanks_stay_as_sent(void **state)
{
    (void)state;
    check("body:/id", "{\"id\":12}", NULL, "12");
    check("body:/id", "{\"id\":\"12\"}", NULL, "12");
    check("body:/id", "{\"id\":12345678901234567890}", NULL, "12345678901234567890");
    check("body:/id", "{\"id\":1.0}", NULL, "1.0");
    check("body:/id", "{\"id\":1e3}", NULL, "1e3");
    check("body:/id", "{\"id\":-0}", NULL, "-0");
    check("body:/id", "{\"id\":\"  x \"}", NULL, "  x ");
    check("body:/id", "{\"id\":\"\\ud83d\\ude00\"}", NULL, "\xf0\x9f\x98\x80");
}

/* {"id":"xx..."} with `len` bytes, of which `tail` are the last. */
static void long_body(char *body, size_t len, const char *tail)
{
    size_t fill = len - strlen(tail);

    memcpy(body, "{\"id\":\"", 7);
    memset(body + 7, 'x', fill);
    snprintf(body + 7 + fill, strlen(tail) + 3, "%s\"}", tail);
}

static void digest_of(const void *bytes, size_t len, char text[static 7 + CODEC_HEX_SIZE(32)])
{
    unsigned char sha256[32];

    digest_sha256((struct str){bytes, len}, sha256);
    memcpy(text, "sha256:", 7);
    codec_hex_encode(sha256, sizeof(sha256), text + 7);
}

static void test_a27_longer_than_512_bytes_becomes_a_digest(void **state)
{
    static const struct {
        size_t len;
        const char *tail;
        bool kept;
    } cases[] = {{512, "", true},
                 {513, "", false},
                 {512, "\xf0\x9f\x98\x80", true},
                 {514, "\xf0\x9f\x98\x80", false},
                 {4000, "z", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[5000], want[5000], digest[7 + CODEC_HEX_SIZE(32)];

        long_body(body, cases[i].len, cases[i].tail);
        snprintf(want, sizeof(want), "%.*s", (int)cases[i].len, body + 7);
        digest_of(want, cases[i].len, digest);
        check("body:/id", body, NULL, cases[i].kept ? want : digest);
    }
}

static void test_joined_and_too_long_becomes_a_digest_too(void **state)
{
    char body[2000], joined[2000], digest[7 + CODEC_HEX_SIZE(32)];

    (void)state;
    long_body(body, 510, "");
    snprintf(joined, sizeof(joined), "%.510s:h1", body + 7);
    digest_of(joined, 513, digest);
    check("body:/id + header:X-Id", body, NULL, digest);
}

static void test_what_is_no_text_becomes_a_digest(void **state)
{
    char nul[7 + CODEC_HEX_SIZE(32)], half[sizeof(nul)], latin[sizeof(nul)], query[sizeof(nul)];

    (void)state;
    digest_of("a\0b", 3, nul);
    digest_of("\xed\xa0\xbd", 3, half);
    digest_of("caf\xe9", 4, latin);
    digest_of("\xff", 1, query);
    check("body:/id", "{\"id\":\"a\\u0000b\"}", NULL, nul);
    check("body:/id", "{\"id\":\"\\ud83d\"}", NULL, half);
    check("header:X-Latin", "{}", NULL, latin);
    check("query:id", "{}", "id=%ff", query);
    check("query:id", "{}", "id=a%00b", nul);
}

static const struct {
    const char *source, *want;
} wrong[] = {
    {"", "\"\" is no source; write body:/POINTER, header:NAME, query:NAME, sha256 or 'literal'"},
    {"id", "\"id\" is no source; write body:/POINTER, header:NAME, query:NAME, sha256 or "
           "'literal'"},
    {"sha256|'x'", "\"sha256|'x'\" is no source; write body:/POINTER, header:NAME, query:NAME, "
                   "sha256 or 'literal'"},
    {"body:/a |", "\"\" is no source; write body:/POINTER, header:NAME, query:NAME, sha256 or "
                  "'literal'"},
    {"| body:/a", "\"|\" is no source; write body:/POINTER, header:NAME, query:NAME, sha256 or "
                  "'literal'"},
    {"body:/a body:/b",
     "cannot read \"body:/b\"; parts are joined with \" + \", alternatives stand "
     "after \" | \""},
    {"body:/a|body:/b", "\"/a|body:/b\" wants blanks around its \"|\""},
    {"body:/a+'x'", "\"/a+'x'\" wants blanks around its \"+\""},
    {"query:a|sha256", "\"a|sha256\" wants blanks around its \"|\""},
    {"header:X-A|header:X-B", "\"X-A|header:X-B\" wants blanks around its \"|\""},
    {"header:X(A)", "\"X(A)\" is no header's name"},
    {"header:", "header: wants a name"},
    {"header: X", "header: wants a name"},
    {"query:", "query: wants a name"},
    {"sha256:header:", "header: wants a name"},
    {"member:", "\"member:\" names no member; write member:/NAME"},
    {"member:name", "\"member:name\" names no member; write member:/NAME"},
    {"member:/a/", "\"member:/a/\" names no member; write member:/NAME"},
    {"member:/a|member:/b", "\"/a|member:/b\" wants blanks around its \"|\""},
    {"'", "a literal is written between two ' and is not empty"},
    {"''", "a literal is written between two ' and is not empty"},
    {"'\xff'", "a literal is UTF-8 text"},
    {"'caf\xe9'", "a literal is UTF-8 text"},
    {"'open", "a literal is written between two ' and is not empty"},
    {"body:/1 + body:/2 + body:/3 + body:/4 + body:/5 + body:/6 + body:/7 + body:/8 + body:/9 + "
     "body:/10 + body:/11 + body:/12 + body:/13",
     "has more than 12 parts"},
};

static void test_every_mistake_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct arena *arena = arena_new(1024);
        struct scope scope = {0};
        struct err err = {0};

        assert_null(source_new(str_from(wrong[i].source), &scope, arena, &err));
        assert_string_equal(err.text, wrong[i].want);
        arena_free(arena);
    }
}

/* The pointer's own mistake is named, whatever its words. */
static void test_a_pointer_that_is_none(void **state)
{
    struct arena *arena = arena_new(1024);
    struct scope scope = {0};
    struct err err = {0};

    (void)state;
    assert_null(source_new(STR("body:id"), &scope, arena, &err));
    assert_true(str_starts(str_from(err.text), STR("body:id: ")));
    arena_free(arena);
}

static void test_pointers_are_shared_between_sources(void **state)
{
    struct arena *arena = arena_new(1024);
    struct scope scope = {0};
    struct err err = {0};
    char text[32];

    (void)state;
    assert_non_null(source_new(STR("body:/a + body:/b"), &scope, arena, &err));
    assert_non_null(source_new(STR("body:/b | body:/a"), &scope, arena, &err));
    assert_int_equal(scope.lists[SCOPE_EVENT].count, 2);
    for (int i = 2; i < JSON_PATHS_MAX; i++) {
        snprintf(text, sizeof(text), "body:/m%d", i);
        assert_non_null(source_new(str_from(text), &scope, arena, &err));
    }
    assert_null(source_new(STR("body:/one_more"), &scope, arena, &err));
    assert_string_equal(
        err.text, "body:/one_more: the sources of a provider name more than 16 members of the "
                  "body");
    assert_non_null(source_new(STR("body:/a"), &scope, arena, &err));
    arena_free(arena);
}

static void test_who_reads_the_body(void **state)
{
    struct arena *arena = arena_new(1024);
    struct scope scope = {0};
    struct err err = {0};

    (void)state;
    assert_true(source_needs_body(source_new(STR("body:/a"), &scope, arena, &err)));
    assert_true(source_needs_body(source_new(STR("body:/a | 'x' + body:/b"), &scope, arena, &err)));
    assert_false(source_needs_body(source_new(STR("sha256 | body:/a"), &scope, arena, &err)));
    assert_false(
        source_needs_body(source_new(STR("body:/a + 'c' | header:A"), &scope, arena, &err)));
    assert_false(source_needs_body(source_new(STR("header:A + 'b'"), &scope, arena, &err)));
    arena_free(arena);
}

static struct str text_of(const struct scope *scope, enum scope_level level, size_t i)
{
    return i < scope->lists[level].count ? scope->lists[level].texts[i] : STR_NONE;
}

static void test_pointers_of_the_request(void **state)
{
    struct arena *arena = arena_new(1024);
    struct scope whole = {0}, split = {.splits = true, .outer = STR("/entry")};
    struct err err = {0};

    (void)state;
    assert_non_null(source_new(STR("request:/a + body:/a"), &whole, arena, &err));
    assert_int_equal(whole.lists[SCOPE_EVENT].count, 1);
    assert_int_equal(whole.lists[SCOPE_REQUEST].count, 0);
    assert_non_null(
        source_new(STR("request:/a + body:/a + request:/entry/*/id"), &split, arena, &err));
    assert_true(str_is(text_of(&split, SCOPE_EVENT, 0), "/a"));
    assert_true(str_is(text_of(&split, SCOPE_REQUEST, 0), "/a"));
    assert_true(str_is(text_of(&split, SCOPE_OUTER, 0), "/id"));
    assert_non_null(source_new(STR("request:/entry/*"), &split, arena, &err));
    assert_true(str_is(text_of(&split, SCOPE_OUTER, 1), ""));
    assert_non_null(source_new(STR("request:/entry/*x/id | request:"), &split, arena, &err));
    assert_true(str_is(text_of(&split, SCOPE_REQUEST, 1), "/entry/*x/id"));
    assert_null(source_new(STR("request:/other/*/id"), &split, arena, &err));
    assert_null(source_new(STR("request:/entry/*/a/*/b"), &split, arena, &err));
    assert_null(source_new(STR("request:/entry/*/id"), &whole, arena, &err));
    assert_non_null(strstr(err.text, "\"*\" stands for the element that an event is in"));
    arena_free(arena);
}

static void test_who_tells_events_apart(void **state)
{
    static const char *const do_not[] = {"header:A",
                                         "request:/a",
                                         "received",
                                         "'x'",
                                         "body:/a | header:A",
                                         "header:A | sha256",
                                         "request:/e/*/id + query:q"};
    static const char *const does[] = {"body:/a", "sha256", "body:/a | sha256",
                                       "header:A + body:/a", "request:/e/*/id + sha256 | body:"};
    struct arena *arena = arena_new(1024);
    struct scope scope = {.splits = true, .outer = STR("/e")};
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(do_not); i++)
        assert_false(
            source_tells_events_apart(source_new(str_from(do_not[i]), &scope, arena, &err)));
    for (size_t i = 0; i < ARRAY_LEN(does); i++)
        assert_true(source_tells_events_apart(source_new(str_from(does[i]), &scope, arena, &err)));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_place),
        cmocka_unit_test(test_alternatives_and_joins),
        cmocka_unit_test(test_joined_parts_are_escaped),
        cmocka_unit_test(test_a_header_or_parameter_that_comes_twice_does_not_exist),
        cmocka_unit_test(test_a19_the_last_member_of_a_name_counts),
        cmocka_unit_test(test_a26_what_is_no_identity),
        cmocka_unit_test(test_a27_numbers_and_blanks_stay_as_sent),
        cmocka_unit_test(test_a27_longer_than_512_bytes_becomes_a_digest),
        cmocka_unit_test(test_joined_and_too_long_becomes_a_digest_too),
        cmocka_unit_test(test_what_is_no_text_becomes_a_digest),
        cmocka_unit_test(test_every_mistake_has_its_text),
        cmocka_unit_test(test_a_pointer_that_is_none),
        cmocka_unit_test(test_pointers_are_shared_between_sources),
        cmocka_unit_test(test_who_reads_the_body),
        cmocka_unit_test(test_pointers_of_the_request),
        cmocka_unit_test(test_who_tells_events_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
