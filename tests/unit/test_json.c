/* What is JSON and what is not: the families of the well-known JSON test suites, plus what is
 * particular to the scanner: offsets, byte order marks, depth, facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

/* Scans a copy of exactly the bytes, so that a read outside shows under the sanitizers. */
static bool scan_copy(struct str document, size_t max_depth, struct json_scan *scan)
{
    char *copy = malloc(document.len ? document.len : 1);
    bool good;

    assert_non_null(copy);
    if (document.len)
        memcpy(copy, document.ptr, document.len);
    good = json_scan((struct str){copy, document.len}, NULL, max_depth, scan, NULL);
    free(copy);
    return good;
}

static const struct {
    struct str document;
    enum json_kind kind;
} accepted[] = {
    /* any value stands alone, with blanks around */
    {STR("null"), JSON_KIND_NULL},
    {STR("true"), JSON_KIND_TRUE},
    {STR("false"), JSON_KIND_FALSE},
    {STR("0"), JSON_KIND_NUMBER},
    {STR("\"\""), JSON_KIND_STRING},
    {STR("[]"), JSON_KIND_ARRAY},
    {STR("{}"), JSON_KIND_OBJECT},
    {STR(" \t\r\n[ \t\r\n] \t\r\n"), JSON_KIND_ARRAY},
    {STR("\n{\r\t}\n"), JSON_KIND_OBJECT},
    {STR("\"a\"\n"), JSON_KIND_STRING},
    /* structures */
    {STR("[[]]"), JSON_KIND_ARRAY},
    {STR("[{},[],[{}]]"), JSON_KIND_ARRAY},
    {STR("[1,2 , 3]"), JSON_KIND_ARRAY},
    {STR("[null, 1, \"1\", {}]"), JSON_KIND_ARRAY},
    {STR("[1\n]"), JSON_KIND_ARRAY},
    {STR("{\"a\":[]}"), JSON_KIND_OBJECT},
    {STR("{\"\":0}"), JSON_KIND_OBJECT},
    {STR("{\"a\":\"b\",\"a\":\"c\"}"), JSON_KIND_OBJECT},
    {STR("{\"a\" : {\"b\" : [ 1 , { } ] } , \"c\" : null }"), JSON_KIND_OBJECT},
    {STR("{\n\"a\": \"b\"\n}"), JSON_KIND_OBJECT},
    {STR("{\"x\":[{\"id\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}]}"), JSON_KIND_OBJECT},
    /* numbers */
    {STR("-0"), JSON_KIND_NUMBER},
    {STR("-1"), JSON_KIND_NUMBER},
    {STR("123456789"), JSON_KIND_NUMBER},
    {STR("0.5"), JSON_KIND_NUMBER},
    {STR("-0.0"), JSON_KIND_NUMBER},
    {STR("0e1"), JSON_KIND_NUMBER},
    {STR("0e+1"), JSON_KIND_NUMBER},
    {STR("1E22"), JSON_KIND_NUMBER},
    {STR("1E-2"), JSON_KIND_NUMBER},
    {STR("1E+2"), JSON_KIND_NUMBER},
    {STR("20e1"), JSON_KIND_NUMBER},
    {STR("123.456e78"), JSON_KIND_NUMBER},
    {STR("1.10"), JSON_KIND_NUMBER},
    {STR("1e007"), JSON_KIND_NUMBER},
    {STR("9223372036854775808"), JSON_KIND_NUMBER},
    {STR("100000000000000000000000000000000000000000000000000000000"), JSON_KIND_NUMBER},
    {STR("[1e400,-1e-400,0.1e1]"), JSON_KIND_ARRAY},
    /* strings */
    {STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), JSON_KIND_STRING},
    {STR("\"\\u0041\\u00e9\\u20AC\\uFFFF\""), JSON_KIND_STRING},
    {STR("\"\\ud83d\\ude00\\uDBFF\\uDFFF\""), JSON_KIND_STRING},
    {STR("\"\\\\u0000\""), JSON_KIND_STRING},
    {STR("\"\\u0000\""), JSON_KIND_STRING},
    {STR("\"\\ud83d\""), JSON_KIND_STRING},
    {STR("\"\\ude00\\ud83d\""), JSON_KIND_STRING},
    {STR("\"\\ud83d\\ud83d\\ude00\""), JSON_KIND_STRING},
    {STR("\"\\ud83dx\\n\""), JSON_KIND_STRING},
    {STR("\"\x7f\""), JSON_KIND_STRING},
    {STR("\"/*no comment*/ //\""), JSON_KIND_STRING},
    {STR("\"\xc2\x80\xdf\xbf\""), JSON_KIND_STRING},
    {STR("\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""), JSON_KIND_STRING},
    {STR("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""), JSON_KIND_STRING},
    {STR("\"\xef\xbb\xbf\""), JSON_KIND_STRING}, /* a byte order mark inside is a character */
    {STR("\"sixteen bytes run\xc3\xa9sixteen bytes run\\nand more\""), JSON_KIND_STRING},
};

static void test_accepts_what_is_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        struct json_scan scan;

        if (!scan_copy(accepted[i].document, JSON_DEPTH_DEFAULT, &scan))
            fail_msg("refused at %zu (%s): %.*s", scan.offset, json_problem_text(scan.problem),
                     STR_ARG(accepted[i].document));
        assert_int_equal(scan.value.kind, accepted[i].kind);
    }
}

static const struct {
    struct str document;
    enum json_problem problem;
    size_t offset;
} refused[] = {
    /* nothing there */
    {{NULL, 0}, JSON_EMPTY, 0},
    {STR(""), JSON_EMPTY, 0},
    {STR(" \n"), JSON_EMPTY, 2},
    {STR("\xef\xbb\xbf"), JSON_EMPTY, 3},
    /* cut */
    {STR("["), JSON_CUT, 1},
    {STR("[1"), JSON_CUT, 2},
    {STR("[1,"), JSON_CUT, 3},
    {STR("[1, "), JSON_CUT, 4},
    {STR("[["), JSON_CUT, 2},
    {STR("[\"a\",\n4\n,1"), JSON_CUT, 10},
    {STR("{"), JSON_CUT, 1},
    {STR("{\"a"), JSON_CUT, 3},
    {STR("{\"a\""), JSON_CUT, 4},
    {STR("{\"a\":"), JSON_CUT, 5},
    {STR("{\"a\": "), JSON_CUT, 6},
    {STR("{\"a\":1"), JSON_CUT, 6},
    {STR("{\"a\":1,"), JSON_CUT, 7},
    {STR("\""), JSON_CUT, 1},
    {STR("\"sixteen bytes and more"), JSON_CUT, 23},
    {STR("tru"), JSON_CUT, 3},
    {STR("[nul"), JSON_CUT, 4},
    {STR("-"), JSON_CUT, 1},
    {STR("1."), JSON_CUT, 2},
    {STR("1e"), JSON_CUT, 2},
    {STR("1e+"), JSON_CUT, 3},
    /* structures */
    {STR("]"), JSON_UNEXPECTED, 0},
    {STR("[1}"), JSON_UNEXPECTED, 2},
    {STR("{\"a\":1]"), JSON_UNEXPECTED, 6},
    {STR("[1 true]"), JSON_UNEXPECTED, 3},
    {STR("[1:2]"), JSON_UNEXPECTED, 2},
    {STR("[\"a\" \"b\"]"), JSON_UNEXPECTED, 5},
    {STR("[,1]"), JSON_UNEXPECTED, 1},
    {STR("[1,]"), JSON_UNEXPECTED, 3},
    {STR("[1,,2]"), JSON_UNEXPECTED, 3},
    {STR("[,]"), JSON_UNEXPECTED, 1},
    {STR("{,}"), JSON_UNEXPECTED, 1},
    {STR("{\"a\":1,}"), JSON_UNEXPECTED, 7},
    {STR("{\"a\":1,,\"b\":2}"), JSON_UNEXPECTED, 7},
    {STR("{\"a\",1}"), JSON_UNEXPECTED, 4},
    {STR("{\"a\"::1}"), JSON_UNEXPECTED, 5},
    {STR("{\"a\" 1}"), JSON_UNEXPECTED, 5},
    {STR("{\"a\":}"), JSON_UNEXPECTED, 5},
    {STR("{:1}"), JSON_UNEXPECTED, 1},
    {STR("{1:1}"), JSON_UNEXPECTED, 1},
    {STR("{a:1}"), JSON_UNEXPECTED, 1},
    {STR("{'a':1}"), JSON_UNEXPECTED, 1},
    {STR("{\"a\":1 \"b\":2}"), JSON_UNEXPECTED, 7},
    {STR("{null:null}"), JSON_UNEXPECTED, 1},
    {STR("{[1]:1}"), JSON_UNEXPECTED, 1},
    {STR("[/*c*/1]"), JSON_UNEXPECTED, 1},
    {STR("[1//\n]"), JSON_UNEXPECTED, 2},
    {STR("[\x0c]"), JSON_UNEXPECTED, 1},
    {STR("[\x0b]"), JSON_UNEXPECTED, 1},
    {STR("[\xc2\xa0]"), JSON_UNEXPECTED, 1},
    {STR("[\xe2\x81\xa0]"), JSON_UNEXPECTED, 1},
    {STR("[\0]"), JSON_UNEXPECTED, 1},
    {STR("\0"), JSON_UNEXPECTED, 0},
    {STR("<null>"), JSON_UNEXPECTED, 0},
    {STR("'a'"), JSON_UNEXPECTED, 0},
    {STR("abc"), JSON_UNEXPECTED, 0},
    {STR("*"), JSON_UNEXPECTED, 0},
    {STR("\\u0020"), JSON_UNEXPECTED, 0},
    /* words */
    {STR("True"), JSON_UNEXPECTED, 0},
    {STR("TRUE"), JSON_UNEXPECTED, 0},
    {STR("trux"), JSON_UNEXPECTED, 3},
    {STR("[fals]"), JSON_UNEXPECTED, 5},
    {STR("truee"), JSON_TRAILING, 4},
    {STR("undefined"), JSON_UNEXPECTED, 0},
    {STR("NaN"), JSON_UNEXPECTED, 0},
    {STR("Infinity"), JSON_UNEXPECTED, 0},
    {STR("-Infinity"), JSON_BAD_NUMBER, 1},
    {STR("[nan]"), JSON_UNEXPECTED, 2},
    /* numbers */
    {STR("+1"), JSON_UNEXPECTED, 0},
    {STR("--1"), JSON_BAD_NUMBER, 1},
    {STR("- 1"), JSON_BAD_NUMBER, 1},
    {STR("-a"), JSON_BAD_NUMBER, 1},
    {STR("01"), JSON_BAD_NUMBER, 1},
    {STR("-01"), JSON_BAD_NUMBER, 2},
    {STR("00"), JSON_BAD_NUMBER, 1},
    {STR("[-012]"), JSON_BAD_NUMBER, 3},
    {STR(".5"), JSON_UNEXPECTED, 0},
    {STR("-.5"), JSON_BAD_NUMBER, 1},
    {STR("[1.]"), JSON_BAD_NUMBER, 3},
    {STR("1.e1"), JSON_BAD_NUMBER, 2},
    {STR("[1.2.3]"), JSON_UNEXPECTED, 4},
    {STR("[1e]"), JSON_BAD_NUMBER, 3},
    {STR("[1e+]"), JSON_BAD_NUMBER, 4},
    {STR("1eE2"), JSON_BAD_NUMBER, 2},
    {STR("1e+-2"), JSON_BAD_NUMBER, 3},
    {STR("1e1.5"), JSON_TRAILING, 3},
    {STR("[1e1.5]"), JSON_UNEXPECTED, 4},
    {STR("0x42"), JSON_TRAILING, 1},
    {STR("1a"), JSON_TRAILING, 1},
    {STR("1_000"), JSON_TRAILING, 1},
    {STR("1 000"), JSON_TRAILING, 2},
    {STR("[1-2]"), JSON_UNEXPECTED, 2},
    {STR("[\xef\xbc\x91]"), JSON_UNEXPECTED, 1}, /* a full-width digit */
    {STR("1\0"), JSON_TRAILING, 1},
    /* strings */
    {STR("\"\n\""), JSON_BAD_CONTROL, 1},
    {STR("\"a\tb\""), JSON_BAD_CONTROL, 2},
    {STR("\"\x1f\""), JSON_BAD_CONTROL, 1},
    {STR("\"\0\""), JSON_BAD_CONTROL, 1},
    {STR("{\"\0\":1}"), JSON_BAD_CONTROL, 2},
    {STR("\"sixteen bytes and\x01\""), JSON_BAD_CONTROL, 18},
    {STR("\"\\\""), JSON_CUT, 3},
    {STR("\"\\"), JSON_BAD_ESCAPE, 1},
    {STR("\"\\x00\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\a\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\'\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\N\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\\0\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\\n\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\\xf0\x9f\x8c\x80\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u00A\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u12"), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u00g0\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u 041\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\u+041\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\U0041\""), JSON_BAD_ESCAPE, 1},
    {STR("\"\\ud83d\\u\""), JSON_BAD_ESCAPE, 7},
    {STR("\"\\ud83d\\ude0\""), JSON_BAD_ESCAPE, 7},
    {STR("\"\\ud83d\\x\""), JSON_BAD_ESCAPE, 7},
    {STR("\"\\ud83d\\"), JSON_BAD_ESCAPE, 7},
    /* after the value */
    {STR("{} x"), JSON_TRAILING, 3},
    {STR("[]]"), JSON_TRAILING, 2},
    {STR("{}{}"), JSON_TRAILING, 2},
    {STR("1,"), JSON_TRAILING, 1},
    {STR("\"a\"#"), JSON_TRAILING, 3},
    {STR("[1]\0"), JSON_TRAILING, 3},
    {STR("\xef\xbb\xbf\xef\xbb\xbf{}"), JSON_UNEXPECTED, 3},
    {STR("{}\xef\xbb\xbf"), JSON_TRAILING, 2},
    {STR(" \xef\xbb\xbf{}"), JSON_UNEXPECTED, 1},
    {STR("\xef\xbb{}"), JSON_UNEXPECTED, 0},
    {STR("\xff\xfe[\0]\0"), JSON_UNEXPECTED, 0}, /* UTF-16 */
    {STR("[\0]\0"), JSON_UNEXPECTED, 1},
};

static void test_refuses_what_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct json_scan scan;

        if (scan_copy(refused[i].document, JSON_DEPTH_DEFAULT, &scan))
            fail_msg("accepted: %.*s", STR_ARG(refused[i].document));
        if (scan.problem != refused[i].problem || scan.offset != refused[i].offset)
            fail_msg("%.*s: \"%s\" at %zu instead of \"%s\" at %zu", STR_ARG(refused[i].document),
                     json_problem_text(scan.problem), scan.offset,
                     json_problem_text(refused[i].problem), refused[i].offset);
    }
}

/* Field report A18: what is not UTF-8 is refused, wherever in a string it stands. */
static void test_a18_refuses_invalid_utf8(void **state)
{
    static const struct str bad[] = {
        STR("\xff"),     /* never a first byte */
        STR("\x80"),     /* a continuation by itself */
        STR("\xc0\x80"), /* overlong NUL */
        STR("\xc1\xbf"), /* overlong */
        STR("\xe0\x80\x80"),
        STR("\xe0\x9f\xbf"), /* overlong */
        STR("\xf0\x80\x80\x80"),
        STR("\xf0\x8f\xbf\xbf"),
        STR("\xed\xa0\x80"),             /* a surrogate */
        STR("\xed\xbf\xbf"),             /* a surrogate */
        STR("\xed\xa0\xbd\xed\xb8\x80"), /* a pair of them: CESU-8 */
        STR("\xf4\x90\x80\x80"),         /* above U+10FFFF */
        STR("\xf5\x80\x80\x80"),
        STR("\xf8\x88\x80\x80\x80"),
        STR("\xfc\x84\x80\x80\x80\x80"),
        STR("caf\xe9"),  /* Latin-1 */
        STR("\xe2\x82"), /* cut */
        STR("\xf0\x9f\x98"),
        STR("\xc3"),
        STR("\xe2\x28\xa1"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (size_t before = 0; before < 20; before++)
            for (int closed = 0; closed < 2; closed++) {
                char text[64] = "{\"id\":\"a18\",\"v\":\"";
                size_t len = strlen(text);
                struct json_scan scan;

                memset(text + len, 'x', before);
                memcpy(text + len + before, bad[i].ptr, bad[i].len);
                memcpy(text + len + before + bad[i].len, "\"}", 2);
                assert_false(scan_copy(
                    (struct str){text, len + before + bad[i].len + (closed ? 2 : 0)}, 10, &scan));
                assert_int_equal(scan.problem, JSON_BAD_UTF8);
                assert_in_range(scan.offset, len + before, len + before + 3);
            }
}

/* Every single byte in every place of a string, around the width of the fast path. */
static void test_each_byte_in_each_place(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++)
        for (size_t len = 1; len < 40; len++)
            for (size_t at = 0; at < len; at++) {
                char text[48];
                struct json_scan scan;
                bool good = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';

                text[0] = '"';
                memset(text + 1, 'x', len);
                text[len + 1] = '"';
                text[at + 1] = (char)byte;
                if (byte == '\\' && at + 1 == len) /* escapes the quote */
                    continue;
                assert_int_equal(json_scan((struct str){text, len + 2}, NULL, 1, &scan, NULL),
                                 good);
            }
}

static void test_every_prefix_of_a_document_is_refused(void **state)
{
    struct str whole =
        STR("{\"a\\n\\ud83d\\ude00\":[1.5e+10,true,null,{\"\xf0\x9f\x98\x80\":false}],"
            "\"b\":\"text of more than sixteen bytes\"}");
    struct json_scan scan;

    (void)state;
    assert_true(scan_copy(whole, 10, &scan));
    for (size_t len = 0; len < whole.len; len++)
        assert_false(scan_copy((struct str){whole.ptr, len}, 10, &scan));
}

static void test_one_byte_order_mark_is_skipped(void **state)
{
    struct json_scan scan;

    (void)state;
    assert_true(json_scan(STR("\xef\xbb\xbf {\"a\":1} \n"), NULL, 10, &scan, NULL));
    assert_true(scan.had_bom);
    assert_false(scan.needs_repair);
    assert_true(str_is(scan.value.text, "{\"a\":1}"));
    assert_true(json_scan(STR("{\"a\":1}"), NULL, 10, &scan, NULL));
    assert_false(scan.had_bom);
}

/* `open` repeated, then `close` repeated; freed by the caller. */
static struct str nested(const char *open, const char *close, size_t times)
{
    size_t open_len = strlen(open), close_len = strlen(close);
    char *text = malloc(times * (open_len + close_len) + 1);

    assert_non_null(text);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * open_len, open, open_len);
        memcpy(text + times * open_len + i * close_len, close, close_len);
    }
    return (struct str){text, times * (open_len + close_len)};
}

/* Field report A20: depth is bounded, counted exactly, and costs no stack. */
static void test_a20_depth_has_a_bound(void **state)
{
    static const struct {
        const char *open, *close;
        size_t depth_of_one;
    } shapes[] = {
        {"[", "]", 1}, {"[", "", 1}, {"[0,", "]", 1}, {"{\"a\":[", "]}", 2}, {"{\"a\":", "}", 1},
    };
    static const size_t depths[] = {500, 1000, 1001, 2048, 2049, 10000, 100000, 500000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        for (size_t j = 0; j < ARRAY_LEN(depths); j++) {
            struct str text = nested(shapes[i].open, shapes[i].close, depths[j]);
            struct json_scan scan;
            bool good = scan_copy(text, JSON_DEPTH_DEFAULT, &scan);
            size_t depth = depths[j] * shapes[i].depth_of_one;

            if (depth > JSON_DEPTH_DEFAULT)
                assert_int_equal(scan.problem, JSON_TOO_DEEP);
            else if (!good) /* unbalanced, or nothing where a value should be */
                assert_in_set(scan.problem, ((const unsigned long[]){JSON_CUT, JSON_UNEXPECTED}),
                              2);
            if (good)
                assert_int_equal(scan.depth, depth);
            free((void *)(uintptr_t)text.ptr);
        }
}

static void test_a20_depth_is_counted_exactly(void **state)
{
    struct str thousand = nested("[", "]", 1000), more = nested("[", "]", 1001);
    struct str ceiling = nested("[", "]", JSON_DEPTH_CEILING);
    struct str above = nested("[", "]", JSON_DEPTH_CEILING + 1);
    struct json_scan scan;

    (void)state;
    assert_true(scan_copy(thousand, JSON_DEPTH_DEFAULT, &scan));
    assert_int_equal(scan.depth, 1000);
    assert_false(scan_copy(more, JSON_DEPTH_DEFAULT, &scan));
    assert_int_equal(scan.problem, JSON_TOO_DEEP);
    assert_int_equal(scan.offset, 1000);
    assert_true(scan_copy(ceiling, SIZE_MAX, &scan));
    assert_false(scan_copy(above, SIZE_MAX, &scan));
    assert_int_equal(scan.problem, JSON_TOO_DEEP);
    assert_true(scan_copy(STR("1"), 0, &scan));
    assert_int_equal(scan.depth, 0);
    assert_false(scan_copy(STR("[]"), 0, &scan));
    /* Closing brackets match the opening ones however deep. */
    for (size_t depth = 1; depth < 200; depth++) {
        struct str mixed = nested("{\"a\":[", "]}", depth);
        char *bytes = (char *)(uintptr_t)mixed.ptr;

        assert_true(scan_copy(mixed, 1000, &scan));
        bytes[mixed.len - depth] ^= '}' ^ ']';
        assert_false(scan_copy(mixed, 1000, &scan));
        free(bytes);
    }
    free((void *)(uintptr_t)thousand.ptr);
    free((void *)(uintptr_t)more.ptr);
    free((void *)(uintptr_t)ceiling.ptr);
    free((void *)(uintptr_t)above.ptr);
}

static void test_facts_tell_what_jsonb_cannot_hold(void **state)
{
    static const struct {
        struct str document;
        bool nul, lone, big;
    } rows[] = {
        {STR("{\"id\":\"a01\",\"v\":\"x\\u0000y\"}"), true, false, false},
        {STR("{\"x\\u0000\":1}"), true, false, false},
        {STR("{\"id\":\"a01b\",\"v\":\"x\\\\u0000y\"}"), false, false, false},
        {STR("[\"\\\\\\u0000\"]"), true, false, false},
        {STR("[\"\\ud83d\"]"), false, true, false},
        {STR("{\"\\ude00\":0}"), false, true, false},
        {STR("[\"\\ude00\\ud83d\"]"), false, true, false},
        {STR("[\"\\ud83d\\n\\ude00\"]"), false, true, false},
        {STR("[\"\\ud83d\\ude00\"]"), false, false, false},
        {STR("[\"\\ud83d\\u0000\"]"), true, true, false},
        {STR("[1e400,-1e-400]"), false, false, false},
        {STR("[1e131072]"), false, false, true},
        {STR("{\"a\":\"1e131072\"}"), false, false, false},
        {STR("-1e99999999999999999999"), false, false, true},
    };
    struct json_scan scan;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(json_scan(rows[i].document, NULL, 10, &scan, NULL));
        assert_int_equal(scan.has_nul, rows[i].nul);
        assert_int_equal(scan.has_lone_surrogate, rows[i].lone);
        assert_int_equal(scan.has_big_number, rows[i].big);
        assert_int_equal(scan.needs_repair, rows[i].nul || rows[i].lone || rows[i].big);
    }
}

static void test_problems_have_texts(void **state)
{
    (void)state;
    for (int problem = JSON_FINE; problem <= JSON_TOO_DEEP; problem++)
        assert_string_not_equal(json_problem_text((enum json_problem)problem), "unknown problem");
}

static void test_members_come_one_after_the_other(void **state)
{
    static const char object[] = " { \"a\" : 1,\"b:,}\\\"\":{\"c\":[1,2]} ,\"\": \"x\" } ";
    static const char *const expected[] = {"\"a\"",         "1",    "\"b:,}\\\"\"",
                                           "{\"c\":[1,2]}", "\"\"", "\"x\""};
    struct json_value name, value;
    struct json_items items;
    struct json_scan scan;
    size_t n = 0;

    (void)state;
    assert_true(json_scan(str_from(object), NULL, JSON_DEPTH_DEFAULT, &scan, NULL));
    items = json_items_begin(scan.value.text);
    while (json_members_next(&items, &name, &value)) {
        assert_true(str_is(name.text, expected[n++]));
        assert_true(str_is(value.text, expected[n++]));
    }
    assert_int_equal(n, ARRAY_LEN(expected));
    assert_true(json_scan(STR("{}"), NULL, JSON_DEPTH_DEFAULT, &scan, NULL));
    items = json_items_begin(scan.value.text);
    assert_false(json_members_next(&items, &name, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_come_one_after_the_other),
        cmocka_unit_test(test_accepts_what_is_json),
        cmocka_unit_test(test_refuses_what_is_not),
        cmocka_unit_test(test_a18_refuses_invalid_utf8),
        cmocka_unit_test(test_each_byte_in_each_place),
        cmocka_unit_test(test_every_prefix_of_a_document_is_refused),
        cmocka_unit_test(test_one_byte_order_mark_is_skipped),
        cmocka_unit_test(test_a20_depth_has_a_bound),
        cmocka_unit_test(test_a20_depth_is_counted_exactly),
        cmocka_unit_test(test_facts_tell_what_jsonb_cannot_hold),
        cmocka_unit_test(test_problems_have_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
