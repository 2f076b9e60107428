/* Forms: every field as it was meant, or none at all; and as JSON nothing is lost of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/form.h"
#include "base/json.h"

static void assert_json(const char *form_text, const char *want)
{
    struct arena *arena = arena_new(1024);
    struct json_scan scan;
    struct form form;
    struct str json;

    assert_true(form_read(str_from(form_text), arena, &form));
    json = form_json(&form, arena);
    if (!str_is(json, want))
        fail_msg("%s: %.*s, not %s", form_text, STR_ARG(json), want);
    assert_true(json_scan(json, NULL, JSON_DEPTH_DEFAULT, &scan, NULL));
    arena_free(arena);
}

static void test_fields_become_members(void **state)
{
    (void)state;
    assert_json("", "{}");
    assert_json("a=1", "{\"a\":\"1\"}");
    assert_json("b=2&a=1", "{\"b\":\"2\",\"a\":\"1\"}");
    assert_json("a=1&b=2&a=3&a=", "{\"a\":[\"1\",\"3\",\"\"],\"b\":\"2\"}");
    assert_json("a[]=1&a%5B%5D=2", "{\"a[]\":[\"1\",\"2\"]}");
    assert_json("&&a=1&&", "{\"a\":\"1\"}");
    assert_json("a&b=", "{\"a\":\"\",\"b\":\"\"}");
    assert_json("=x", "{\"\":\"x\"}");
    assert_json("a=b=c", "{\"a\":\"b=c\"}");
    assert_json("A=1&a=2", "{\"A\":\"1\",\"a\":\"2\"}");
}

static void test_percent_and_plus(void **state)
{
    (void)state;
    assert_json("a+b=c+d%2B%2b", "{\"a b\":\"c d++\"}");
    assert_json("a=%26%3D%25", "{\"a\":\"&=%\"}");
    assert_json("a=%22%5c%0A%00", "{\"a\":\"\\u0022\\u005c\\u000a\\u0000\"}");
    assert_json("a=%c3%A9\xc3\xa9", "{\"a\":\"\xc3\xa9\xc3\xa9\"}");
}

/* Not UTF-8: distinct bytes stay distinct. */
static void test_other_bytes_become_halves_of_surrogate_pairs(void **state)
{
    (void)state;
    assert_json("a=%ff%FEx", "{\"a\":\"\\udcff\\udcfex\"}");
    assert_json("\xe9=%ed%a0%80", "{\"\\udce9\":\"\\udced\\udca0\\udc80\"}");
}

static void test_what_is_cut_is_no_form(void **state)
{
    static const char *const cases[] = {"a=%7", "a=%", "a=%7g", "%=1", "a=1&b=%zz", "a=%+1", "%7"};
    struct arena *arena = arena_new(1024);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct form form = {NULL, 77};

        if (form_read(str_from(cases[i]), arena, &form))
            fail_msg("%s is a form", cases[i]);
        assert_int_equal(form.count, 77);
    }
    arena_free(arena);
}

static void test_fields_are_found(void **state)
{
    struct arena *arena = arena_new(1024);
    struct str value = STR_NONE;
    struct form form;

    (void)state;
    assert_true(form_read(STR("x=0&payload=%7B%7D&y=1&x=2"), arena, &form));
    assert_int_equal(form.count, 4);
    assert_int_equal(form_find(&form, STR("payload"), &value), 1);
    assert_true(str_is(value, "{}"));
    assert_int_equal(form_find(&form, STR("x"), &value), 2);
    assert_true(str_is(value, "0"));
    assert_int_equal(form_find(&form, STR("Payload"), &value), 0);
    arena_free(arena);
}

/* As many as are allowed cost no square of them. */
static void test_many_fields(void **state)
{
    struct arena *arena = arena_new(1024);
    struct buf text;
    struct form form;
    struct str json;

    (void)state;
    buf_init(&text, BUF_NO_CAP);
    for (int i = 0; i < FORM_FIELDS_MAX; i++)
        buf_printf(&text, "a%d=%d&", i % 7000, i);
    assert_true(form_read(buf_str(&text), arena, &form));
    assert_int_equal(form.count, FORM_FIELDS_MAX);
    json = form_json(&form, arena);
    assert_true(str_starts(json, STR("{\"a0\":[\"0\",\"7000\"],\"a1\":[\"1\",\"7001\"],")));
    buf_printf(&text, "b");
    assert_false(form_read(buf_str(&text), arena, &form));
    buf_release(&text);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_become_members),
        cmocka_unit_test(test_percent_and_plus),
        cmocka_unit_test(test_other_bytes_become_halves_of_surrogate_pairs),
        cmocka_unit_test(test_what_is_cut_is_no_form),
        cmocka_unit_test(test_fields_are_found),
        cmocka_unit_test(test_many_fields),
    };

    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
