/* Pointers find the last value at their place, as jsonb would, whatever the spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

#define ABSENT NULL

/* One pointer into one document. */
static const struct {
    const char *pointer;
    struct str document;
    enum json_kind kind;
    const char *text;
} lookups[] = {
    {"/id", STR("{\"id\":\"evt_1\"}"), JSON_KIND_STRING, "\"evt_1\""},
    {"/id", STR("{\"id\": 616581622363398142 }"), JSON_KIND_NUMBER, "616581622363398142"},
    {"/id", STR("{\"id\":-1.50e+3}"), JSON_KIND_NUMBER, "-1.50e+3"},
    {"/id", STR("{\"id\":true}"), JSON_KIND_TRUE, "true"},
    {"/id", STR("{\"id\":false}"), JSON_KIND_FALSE, "false"},
    {"/id", STR("{\"id\":null}"), JSON_KIND_NULL, "null"},
    {"/id", STR("{\"id\":{ \"a\": 1 } }"), JSON_KIND_OBJECT, "{ \"a\": 1 }"},
    {"/id", STR("{\"id\":[]}"), JSON_KIND_ARRAY, "[]"},
    {"/id", STR("{\"id\":{}}"), JSON_KIND_OBJECT, "{}"},
    {"/id", STR("{}"), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("{\"di\":1,\"idd\":2,\"i\":3,\"\":4}"), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("{\"a\":{\"id\":1}}"), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("[{\"id\":1}]"), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("\"id\""), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("{\"a\":[{\"id\":1},[[]]],\"id\":2}"), JSON_KIND_NUMBER, "2"},
    /* the whole document */
    {"", STR(" [1, 2] "), JSON_KIND_ARRAY, "[1, 2]"},
    {"", STR("7"), JSON_KIND_NUMBER, "7"},
    {"", STR("\xef\xbb\xbf\"x\""), JSON_KIND_STRING, "\"x\""},
    /* deeper */
    {"/data/object/id", STR("{\"data\":{\"object\":{\"x\":[],\"id\":\"ch_1\"}}}"), JSON_KIND_STRING,
     "\"ch_1\""},
    {"/data/object/id", STR("{\"data\":{\"object\":[{\"id\":1}]}}"), JSON_KIND_ABSENT, ABSENT},
    {"/data/object/id", STR("{\"object\":{\"id\":1},\"data\":1}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/a/a", STR("{\"a\":{\"a\":{\"a\":{\"a\":1}}}}"), JSON_KIND_OBJECT, "{\"a\":1}"},
    /* elements */
    {"/items/0/id", STR("{\"items\":[{\"id\":1},{\"id\":2}]}"), JSON_KIND_NUMBER, "1"},
    {"/items/1/id", STR("{\"items\":[{\"id\":1},{\"id\":2}]}"), JSON_KIND_NUMBER, "2"},
    {"/items/2", STR("{\"items\":[1,2]}"), JSON_KIND_ABSENT, ABSENT},
    {"/0", STR("[ [ 1 ] , 2]"), JSON_KIND_ARRAY, "[ 1 ]"},
    {"/1", STR("[[1,2],3]"), JSON_KIND_NUMBER, "3"},
    {"/0/1", STR("[[1,2],3]"), JSON_KIND_NUMBER, "2"},
    {"/12", STR("[0,1,2,3,4,5,6,7,8,9,10,11,\"x\"]"), JSON_KIND_STRING, "\"x\""},
    {"/00", STR("[1]"), JSON_KIND_ABSENT, ABSENT},
    {"/01", STR("[1,2]"), JSON_KIND_ABSENT, ABSENT},
    {"/+1", STR("[1,2]"), JSON_KIND_ABSENT, ABSENT},
    {"/-", STR("[1]"), JSON_KIND_ABSENT, ABSENT},
    {"/", STR("[1]"), JSON_KIND_ABSENT, ABSENT},
    {"/99999999999999999999", STR("[1]"), JSON_KIND_ABSENT, ABSENT},
    {"/99999999999999999999", STR("{\"99999999999999999999\":1}"), JSON_KIND_NUMBER, "1"},
    {"/0", STR("{\"0\":1}"), JSON_KIND_NUMBER, "1"},
    {"/00", STR("{\"00\":1}"), JSON_KIND_NUMBER, "1"},
    {"/-", STR("{\"-\":1}"), JSON_KIND_NUMBER, "1"},
    /* RFC 6901 section 5 */
    {"/", STR("{\"\":0}"), JSON_KIND_NUMBER, "0"},
    {"//", STR("{\"\":{\"\":1}}"), JSON_KIND_NUMBER, "1"},
    {"/a~1b", STR("{\"a/b\":1}"), JSON_KIND_NUMBER, "1"},
    {"/m~0n", STR("{\"m~n\":8}"), JSON_KIND_NUMBER, "8"},
    {"/~01", STR("{\"~1\":1,\"/\":2}"), JSON_KIND_NUMBER, "1"},
    {"/c%d", STR("{\"c%d\":2}"), JSON_KIND_NUMBER, "2"},
    {"/i\\j", STR("{\"i\\\\j\":5}"), JSON_KIND_NUMBER, "5"},
    {"/k\"l", STR("{\"k\\\"l\":6}"), JSON_KIND_NUMBER, "6"},
    {"/ ", STR("{\" \":7}"), JSON_KIND_NUMBER, "7"},
    /* names are compared unescaped */
    {"/id", STR("{\"\\u0069d\":1}"), JSON_KIND_NUMBER, "1"},
    {"/id", STR("{\"\\u0069\\u0064\":1}"), JSON_KIND_NUMBER, "1"},
    {"/id", STR("{\"i\\u0064x\":1}"), JSON_KIND_ABSENT, ABSENT},
    {"/id", STR("{\"\\u0069\":1}"), JSON_KIND_ABSENT, ABSENT},
    {"/\xf0\x9f\x98\x80", STR("{\"\\ud83d\\ude00\":1}"), JSON_KIND_NUMBER, "1"},
    {"/\xc3\xa9", STR("{\"\\u00E9\":1}"), JSON_KIND_NUMBER, "1"},
    {"/\xc3\xa9", STR("{\"\xc3\xa9\":1}"), JSON_KIND_NUMBER, "1"},
    {"/\xc3\xa9", STR("{\"e\xcc\x81\":1}"), JSON_KIND_ABSENT, ABSENT}, /* no normalisation */
    {"/a\tb", STR("{\"a\\tb\":1}"), JSON_KIND_NUMBER, "1"},
    /* ... and as the repair writes them */
    {"/a\xef\xbf\xbd", STR("{\"a\\u0000\":1}"), JSON_KIND_NUMBER, "1"},
    {"/a\xef\xbf\xbd", STR("{\"a\xef\xbf\xbd\":1,\"a\\udead\":2}"), JSON_KIND_NUMBER, "2"},
    /* the last of duplicates counts, at every level */
    {"/id", STR("{\"id\":\"first\",\"id\":\"second\",\"k\":1,\"k\":2}"), JSON_KIND_STRING,
     "\"second\""},
    {"/id", STR("{\"id\":\"first\",\"\\u0069d\":\"second\"}"), JSON_KIND_STRING, "\"second\""},
    {"/id", STR("{\"id\":1,\"id\":null}"), JSON_KIND_NULL, "null"},
    {"/id", STR("{\"id\":1,\"id\":{\"id\":2}}"), JSON_KIND_OBJECT, "{\"id\":2}"},
    {"/a/id", STR("{\"a\":{\"id\":1},\"a\":{}}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/id", STR("{\"a\":{\"id\":1},\"a\":7}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/id", STR("{\"a\":{\"id\":1},\"a\":[{\"id\":2}]}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/id", STR("{\"a\":{\"id\":1},\"b\":{\"id\":2}}"), JSON_KIND_NUMBER, "1"},
    {"/a/id", STR("{\"a\":{\"id\":1},\"a\":{\"x\":0,\"id\":2}}"), JSON_KIND_NUMBER, "2"},
    {"/a/b/c", STR("{\"a\":{\"b\":{\"c\":1},\"b\":{}},\"x\":0}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/b/c", STR("{\"a\":{\"b\":{\"c\":1}},\"\\u0061\":null}"), JSON_KIND_ABSENT, ABSENT},
    {"/a/0/id", STR("{\"a\":[{\"id\":1,\"id\":2}],\"b\":0}"), JSON_KIND_NUMBER, "2"},
    {"/a/0/id", STR("{\"a\":[{\"id\":1}],\"a\":[]}"), JSON_KIND_ABSENT, ABSENT},
};

static void test_finds_the_last_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lookups); i++) {
        struct str pointer = str_from(lookups[i].pointer);
        struct err err = {0};
        struct json_paths *paths = json_paths_new(&pointer, 1, &err);
        struct json_scan scan;
        struct json_value value;

        if (!paths)
            fail_msg("%s", err.text);
        assert_true(json_scan(lookups[i].document, paths, JSON_DEPTH_DEFAULT, &scan, &value));
        if (value.kind != lookups[i].kind || !str_equal(value.text, str_from(lookups[i].text)))
            fail_msg("\"%s\" in %.*s: kind %d \"%.*s\"", lookups[i].pointer,
                     STR_ARG(lookups[i].document), value.kind, STR_ARG(value.text));
        assert_int_equal(value.text.ptr == NULL, value.kind == JSON_KIND_ABSENT);
        json_paths_free(paths);
    }
}

static void test_a19_all_pointers_of_a_set_agree(void **state)
{
    struct str pointers[] = {
        STR("/type"),
        STR("/data/object/id"),
        STR(""),
        STR("/data"),
        STR("/id"),
        STR("/items/1"),
        STR("/items/1/n"),
        STR("/data/object/id"),
        STR("/data/previous"),
    };
    struct json_paths *paths = json_paths_new(pointers, ARRAY_LEN(pointers), NULL);
    struct json_value v[ARRAY_LEN(pointers)];
    struct json_scan scan;

    (void)state;
    assert_non_null(paths);
    assert_int_equal(json_paths_count(paths), ARRAY_LEN(pointers));
    assert_true(json_scan(STR("{\"id\":\"evt\",\"data\":{\"previous\":0,\"object\":{\"id\":1}},"
                              "\"items\":[{\"n\":1},{\"n\":2}],\"type\":\"t\","
                              "\"data\":{\"object\":{\"id\":2}},\"id\":\"evt2\"}"),
                          paths, 10, &scan, v));
    assert_true(str_is(v[0].text, "\"t\""));
    assert_true(str_is(v[1].text, "2"));
    assert_true(str_equal(v[2].text, scan.value.text));
    assert_true(str_is(v[3].text, "{\"object\":{\"id\":2}}"));
    assert_true(str_is(v[4].text, "\"evt2\""));
    assert_true(str_is(v[5].text, "{\"n\":2}"));
    assert_true(str_is(v[6].text, "2"));
    assert_true(str_is(v[7].text, "2"));
    assert_int_equal(v[8].kind, JSON_KIND_ABSENT); /* went with the earlier "data" */
    json_paths_free(paths);
}

static void test_a_bad_document_leaves_nothing(void **state)
{
    struct str pointer = STR("/id");
    struct json_paths *paths = json_paths_new(&pointer, 1, NULL);
    struct json_value value = {JSON_KIND_NULL, STR("null")};
    struct json_scan scan;

    (void)state;
    assert_false(json_scan(STR("{\"id\":1,\"v\":\"\\u0000\\ud800\",}"), paths, 10, &scan, &value));
    assert_int_equal(value.kind, JSON_KIND_ABSENT);
    assert_null(value.text.ptr);
    assert_false(scan.needs_repair);
    assert_int_equal(scan.value.kind, JSON_KIND_ABSENT);
    json_paths_free(paths);
}

static void test_names_of_every_length(void **state)
{
    char pointer[202] = "/", document[220];

    (void)state;
    memset(pointer + 1, 'n', 200);
    for (size_t len = 0; len <= 200; len++) {
        struct str text = {pointer, len + 1};
        struct json_paths *paths = json_paths_new(&text, 1, NULL);
        struct json_value value;
        struct json_scan scan;

        for (size_t other = len ? len - 1 : 0; other <= len + 1 && other <= 200; other++) {
            int size =
                snprintf(document, sizeof(document), "{\"%.*s\":1}", (int)other, pointer + 1);

            assert_true(json_scan((struct str){document, (size_t)size}, paths, 10, &scan, &value));
            assert_int_equal(value.kind, other == len ? JSON_KIND_NUMBER : JSON_KIND_ABSENT);
        }
        json_paths_free(paths);
    }
}

static void test_the_longest_pointer(void **state)
{
    char pointer[2 * JSON_TOKENS_MAX + 3], document[6 * JSON_TOKENS_MAX + 64] = "";
    struct str text = {pointer, 2 * (size_t)JSON_TOKENS_MAX};
    struct json_paths *paths;
    struct json_value value;
    struct json_scan scan;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i <= JSON_TOKENS_MAX; i++)
        memcpy(pointer + 2 * i, "/a", 2);
    for (size_t i = 0; i < JSON_TOKENS_MAX; i++)
        memcpy(document + 5 * i, "{\"a\":", 5);
    document[5 * JSON_TOKENS_MAX] = '5';
    memset(document + 5 * JSON_TOKENS_MAX + 1, '}', JSON_TOKENS_MAX);
    paths = json_paths_new(&text, 1, &err);
    assert_non_null(paths);
    assert_true(json_scan(str_from(document), paths, 100, &scan, &value));
    assert_true(str_is(value.text, "5"));
    /* The same place, but something deep there. */
    memcpy(document + 5 * JSON_TOKENS_MAX, "[[{\"a\":[]}]]", 12);
    memset(document + 5 * JSON_TOKENS_MAX + 12, '}', JSON_TOKENS_MAX);
    assert_true(json_scan(str_from(document), paths, 100, &scan, &value));
    assert_true(str_is(value.text, "[[{\"a\":[]}]]"));
    json_paths_free(paths);
    text.len += 2;
    assert_null(json_paths_new(&text, 1, &err));
    assert_int_equal(err.kind, ERR_INPUT);
}

static void test_pointers_that_are_none(void **state)
{
    static const char *const bad[] = {"id", "#/id", "$.id", "/a~", "/a~2", "/~/b", "/\xff"};
    struct str many[JSON_PATHS_MAX + 1];
    struct json_paths *paths;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct str pointer = str_from(bad[i]);

        err_clear(&err);
        assert_null(json_paths_new(&pointer, 1, &err));
        assert_int_equal(err.kind, ERR_INPUT);
    }
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = STR("/id");
    err_clear(&err);
    assert_null(json_paths_new(many, ARRAY_LEN(many), &err));
    assert_string_equal(err.text, "more than 16 json pointers");
    paths = json_paths_new(many, JSON_PATHS_MAX, &err);
    assert_non_null(paths);
    json_paths_free(paths);
    paths = json_paths_new(NULL, 0, &err);
    assert_int_equal(json_paths_count(paths), 0);
    json_paths_free(paths);
    json_paths_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_last_value),
        cmocka_unit_test(test_a19_all_pointers_of_a_set_agree),
        cmocka_unit_test(test_a_bad_document_leaves_nothing),
        cmocka_unit_test(test_names_of_every_length),
        cmocka_unit_test(test_the_longest_pointer),
        cmocka_unit_test(test_pointers_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
