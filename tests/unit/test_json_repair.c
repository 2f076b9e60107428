/* What follows a scan: repair for jsonb, the range of numbers, string content, elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

/* Field reports A01, A02, A03: what jsonb cannot hold is repaired, all else stays. */
static void test_a01_a02_a03_repair(void **state)
{
    static const struct {
        struct str document, repaired;
    } rows[] = {
        {STR("{\"id\":\"a01\",\"v\":\"x\\u0000y\"}"),
         STR("{\"id\":\"a01\",\"v\":\"x\xef\xbf\xbdy\"}")},
        {STR("{\"id\":\"a01b\",\"v\":\"x\\\\u0000y\"}"),
         STR("{\"id\":\"a01b\",\"v\":\"x\\\\u0000y\"}")},
        {STR("[\"\\\\\\u0000\"]"), STR("[\"\\\\\xef\xbf\xbd\"]")},
        {STR("{\"\\u0000\":\"\\u0000\\u0000\"}"),
         STR("{\"\xef\xbf\xbd\":\"\xef\xbf\xbd\xef\xbf\xbd\"}")},
        {STR("[\"\\ud83d\",\"\\ude00\"]"), STR("[\"\xef\xbf\xbd\",\"\xef\xbf\xbd\"]")},
        {STR("\"\\ude00\\ud83d\""), STR("\"\xef\xbf\xbd\xef\xbf\xbd\"")},
        {STR("\"\\ud83d\\ude00\""), STR("\"\\ud83d\\ude00\"")},
        {STR("\"\\ud83d\\ud83d\\ude00\""), STR("\"\xef\xbf\xbd\\ud83d\\ude00\"")},
        {STR("\"\\ud83d\\n\\ude00\""), STR("\"\xef\xbf\xbd\\n\xef\xbf\xbd\"")},
        {STR("\"\\ud83d\\\\ude00\""), STR("\"\xef\xbf\xbd\\\\ude00\"")},
        {STR("\"\\u0041\\u00e9\\/\""), STR("\"\\u0041\\u00e9\\/\"")},
        {STR("[1e131072,-1e131072, 1e131071]"), STR("[\"1e131072\",\"-1e131072\", 1e131071]")},
        {STR("{\"a\":1e-16384,\"b\":\"1e-16384\"}"),
         STR("{\"a\":\"1e-16384\",\"b\":\"1e-16384\"}")},
        {STR("1E+99999999999999999999"), STR("\"1E+99999999999999999999\"")},
        {STR("[9007199254740993,616581622363398142,18446744073709551616,1e400,1.10,-0]"),
         STR("[9007199254740993,616581622363398142,18446744073709551616,1e400,1.10,-0]")},
        {STR("\xef\xbb\xbf{ \"a\" : [ \"\\u0000\" ] }\n"),
         STR("{ \"a\" : [ \"\xef\xbf\xbd\" ] }\n")},
    };
    struct arena *arena = arena_new(256);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str repaired = json_repair(rows[i].document, arena);
        struct json_scan scan;

        if (!str_equal(repaired, rows[i].repaired))
            fail_msg("%.*s: %.*s", STR_ARG(rows[i].document), STR_ARG(repaired));
        assert_true(json_scan(repaired, NULL, 10, &scan, NULL));
        assert_false(scan.needs_repair || scan.had_bom);
    }
    arena_free(arena);
}

static void test_repair_grows_within_its_room(void **state)
{
    char document[9001] = "[";
    struct arena *arena = arena_new(64);
    struct str repaired;
    size_t len = 1;

    (void)state;
    for (; len + 10 < sizeof(document); len += 9)
        memcpy(document + len, "1e131072,", 10);
    document[len - 1] = ']';
    repaired = json_repair((struct str){document, len}, arena);
    assert_int_equal(repaired.len, len + 2 * ((len - 1) / 9));
    arena_free(arena);
    arena = arena_new(64);
    repaired = json_repair(STR("1e131072"), arena);
    assert_true(str_is(repaired, "\"1e131072\""));
    arena_free(arena);
}

/* `head`, then `times` of `c`, then `tail`. */
static bool fits(const char *head, char c, size_t times, const char *tail)
{
    size_t size = strlen(head) + times + strlen(tail);
    char *text = malloc(size);
    struct json_scan scan;
    bool result;

    assert_non_null(text);
    memcpy(text, head, strlen(head));
    memset(text + strlen(head), c, times);
    memcpy(text + strlen(head) + times, tail, strlen(tail));
    result = json_number_fits((struct str){text, size});
    assert_true(json_scan((struct str){text, size}, NULL, 1, &scan, NULL));
    assert_int_equal(scan.has_big_number, !result);
    free(text);
    return result;
}

/* Each of these was asked of PostgreSQL 15. */
static void test_a03_range_of_numeric(void **state)
{
    static const struct {
        const char *number;
        bool fits;
    } rows[] = {
        {"0", true},
        {"-0.0", true},
        {"1e131071", true},
        {"1e131072", false},
        {"9.99e131071", true},
        {"10e131070", true},
        {"10e131071", false},
        {"0.1e131072", true},
        {"0.1e131073", false},
        {"0.00001e131076", true},
        {"0.00001e131077", false},
        {"-1E+131071", true},
        {"-1E+131072", false},
        {"1e-16383", true},
        {"1e-16384", false},
        {"1.0e-16383", false},
        {"1.0e-16382", true},
        {"100e-16384", false},
        {"0e-16383", true},
        {"0e-16384", false},
        {"0e131072", true},
        {"0e999999", true},
        {"0.000e1073741822", true},
        {"0e1073741822", true},
        {"0e1073741823", false},
        {"0e-1073741823", false},
        {"1e1073741823", false},
        {"1e2147483648", false},
        {"0e4294967296", false},
        {"1e-4294967296", false},
        {"0e99999999999999999999", false},
        {"1e99999999999999999999", false},
        {"1e-99999999999999999999", false},
        {"1e0000000000000000000000000000000000001", true},
        {"1e-000000000000000000000000000000016383", true},
        {"0.5e16384", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (fits(rows[i].number, ' ', 0, "") != rows[i].fits)
            fail_msg("%s", rows[i].number);
    assert_true(fits("", '9', 131072, ""));
    assert_false(fits("", '9', 131073, ""));
    assert_true(fits("-", '9', 131072, ""));
    assert_true(fits("", '9', 131072, "e0"));
    assert_false(fits("", '9', 131072, "e1"));
    assert_true(fits("", '9', 131073, "e-1"));
    assert_true(fits("", '9', 131072, ".5"));
    assert_true(fits("0.", '0', 16382, "1"));
    assert_false(fits("0.", '0', 16383, "1"));
    assert_true(fits("0.", '9', 16383, ""));
    assert_false(fits("0.", '9', 16384, ""));
    assert_false(fits("1.", '0', 16384, ""));
    assert_false(fits("0.", '0', 16384, ""));
    assert_true(fits("0.", '0', 16384, "e1"));
    assert_true(fits("0.", '0', 131072, "1e131073"));
    assert_true(fits("0.", '0', 200000, "1e200000"));
    assert_true(fits("0.", '9', 6000, "e-9999"));
    assert_false(fits("0.", '9', 6400, "e-9999"));
    assert_true(fits("", '9', 7000, "e9999"));
}

static void test_string_content(void **state)
{
    static const struct {
        struct str string, bytes;
        bool nul, lone;
    } rows[] = {
        {STR("\"\""), STR(""), false, false},
        {STR("\"evt_1\""), STR("evt_1"), false, false},
        {STR("\"  x \""), STR("  x "), false, false},
        {STR("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\""), STR("a\"\\/\b\f\n\r\tz"), false, false},
        {STR("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\""),
         STR("A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), false, false},
        {STR("\"\\uDBFF\\uDFFF\\uffff\\u07ff\\u0800\""),
         STR("\xf4\x8f\xbf\xbf\xef\xbf\xbf\xdf\xbf\xe0\xa0\x80"), false, false},
        {STR("\"\xc3\xa9\\\\u0000\""), STR("\xc3\xa9\\u0000"), false, false},
        {STR("\"x\\u0000y\""), STR("x\0y"), true, false},
        {STR("\"\\ud800\""), STR("\xed\xa0\x80"), false, true},
        {STR("\"\\ude00\\ud83d\""), STR("\xed\xb8\x80\xed\xa0\xbd"), false, true},
        {STR("\"\\u0000\\udfff\""), STR("\0\xed\xbf\xbf"), true, true},
    };
    struct arena *arena = arena_new(256);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_text text = json_string_text(rows[i].string, arena);

        assert_true(str_equal(text.bytes, rows[i].bytes));
        assert_non_null(text.bytes.ptr);
        assert_int_equal(text.nul, rows[i].nul);
        assert_int_equal(text.lone_surrogate, rows[i].lone);
    }
    arena_free(arena);
}

static void test_elements_one_after_the_other(void **state)
{
    static const struct {
        const char *array;
        const char *elements[8];
        enum json_kind kinds[8];
    } rows[] = {
        {"[]", {0}, {0}},
        {"[ \n]", {0}, {0}},
        {"[1]", {"1"}, {JSON_KIND_NUMBER}},
        {"[ -1.5e3 ,true,false , null,\"a]\\\",\"]",
         {"-1.5e3", "true", "false", "null", "\"a]\\\",\""},
         {JSON_KIND_NUMBER, JSON_KIND_TRUE, JSON_KIND_FALSE, JSON_KIND_NULL, JSON_KIND_STRING}},
        {"[{\"id\":[1,{\"}\":\"]\"}]},[[],[ ]],{},\"\" ]",
         {"{\"id\":[1,{\"}\":\"]\"}]}", "[[],[ ]]", "{}", "\"\""},
         {JSON_KIND_OBJECT, JSON_KIND_ARRAY, JSON_KIND_OBJECT, JSON_KIND_STRING}},
        {"[\"\\\\\",\"sixteen bytes \xc3\xa9 and more\"]",
         {"\"\\\\\"", "\"sixteen bytes \xc3\xa9 and more\""},
         {JSON_KIND_STRING, JSON_KIND_STRING}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_items items = json_items_begin(str_from(rows[i].array));
        struct json_value element;
        size_t n = 0;

        for (; json_items_next(&items, &element); n++) {
            assert_non_null(rows[i].elements[n]);
            assert_true(str_is(element.text, rows[i].elements[n]));
            assert_int_equal(element.kind, rows[i].kinds[n]);
        }
        assert_null(rows[i].elements[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a01_a02_a03_repair),
        cmocka_unit_test(test_repair_grows_within_its_room),
        cmocka_unit_test(test_a03_range_of_numeric),
        cmocka_unit_test(test_string_content),
        cmocka_unit_test(test_elements_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
