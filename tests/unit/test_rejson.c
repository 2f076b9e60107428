/* JSON written anew as common libraries write it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "diagnose/rejson.h"

static void check(const char *text, enum rejson_blanks blanks, enum rejson_escapes escapes,
                  const char *want)
{
    struct buf out;

    buf_init(&out, BUF_NO_CAP);
    rejson(str_from(text), blanks, escapes, &out);
    buf_put_char(&out, '\0');
    assert_string_equal(out.data, want);
    buf_release(&out);
}

#define SENT "{ \"a\" : [1.0 ,\ttrue, {} , []],\r\n\"b\\\" : ,\" :{\"c\": -1e5}}\n"

static void test_blanks(void **state)
{
    (void)state;
    check(SENT, BLANKS_AS_SENT, ESCAPES_AS_SENT, SENT);
    check(SENT, BLANKS_NONE, ESCAPES_AS_SENT,
          "{\"a\":[1.0,true,{},[]],\"b\\\" : ,\":{\"c\":-1e5}}");
    check(SENT, BLANKS_SPACED, ESCAPES_AS_SENT,
          "{\"a\": [1.0, true, {}, []], \"b\\\" : ,\": {\"c\": -1e5}}");
    check(SENT, BLANKS_INDENT_2, ESCAPES_AS_SENT,
          "{\n  \"a\": [\n    1.0,\n    true,\n    {},\n    []\n  ],\n  \"b\\\" : ,\": {\n    "
          "\"c\": -1e5\n  }\n}");
    check("[1,[2]]", BLANKS_INDENT_4, ESCAPES_AS_SENT, "[\n    1,\n    [\n        2\n    ]\n]");
    check("{\"a\":1}", BLANKS_INDENT_TAB, ESCAPES_AS_SENT, "{\n\t\"a\": 1\n}");
    check(" null ", BLANKS_NONE, ESCAPES_AS_SENT, "null");
    check("[ ]", BLANKS_INDENT_2, ESCAPES_AS_SENT, "[]");
}

static const struct {
    enum rejson_escapes escapes;
    const char *text, *want;
} escapings[] = {
    {ESCAPES_ASCII, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x8a/\\n\"",
     "\"\\u00e9\\u20ac\\ud83d\\ude0a/\\n\""},
    {ESCAPES_UTF8, "\"\\u00e9\\u20AC\\ud83d\\ude0a/\\n\"",
     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x8a/\\n\""},
    /* What has no UTF-8, and what is not escaped. */
    {ESCAPES_UTF8, "\"\\ud83d\\u0041\\u000a\\\\u00e9\"", "\"\\ud83d\\u0041\\u000a\\\\u00e9\""},
    {ESCAPES_SLASH, "\"a/b\\n\"", "\"a\\/b\\n\""},
    {ESCAPES_NOSLASH, "\"a\\/b\\\\/\"", "\"a/b\\\\/\""},
    {ESCAPES_PHP, "\"a/\xc3\xa9\"", "\"a\\/\\u00e9\""},
    {ESCAPES_HTML, "\"<a&b>\"", "\"\\u003ca\\u0026b\\u003e\""},
    {ESCAPES_NOHTML, "\"\\u003ca\\u0026b\\u003E\\u00e9\"", "\"<a&b>\\u00e9\""},
};

static void test_escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(escapings); i++)
        check(escapings[i].text, BLANKS_NONE, escapings[i].escapes, escapings[i].want);
    check("[1 / 2]", BLANKS_AS_SENT, ESCAPES_SLASH, "[1 / 2]"); /* only in strings */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_escapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
