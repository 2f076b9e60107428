/* Errors keep their kind, their text, and whole characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_set_formats_and_returns_minus_one(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(err_set(&err, ERR_AGAIN, "could not reach %s", "db"), -1);
    assert_int_equal(err.kind, ERR_AGAIN);
    assert_string_equal(err.text, "could not reach db");
    assert_int_equal(err_set(NULL, ERR_INPUT, "nobody listens"), -1);
}

static void test_prefix_keeps_kind(void **state)
{
    struct err err = {0};

    (void)state;
    err_set(&err, ERR_INPUT, "is empty");
    assert_int_equal(err_prefix(&err, "secret %d", 2), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_string_equal(err.text, "secret 2: is empty");
}

static void test_long_text_is_cut_at_a_character(void **state)
{
    struct err err = {0};
    char long_text[700] = "a";

    (void)state;
    for (size_t i = 1; i + 2 < sizeof(long_text); i += 2)
        memcpy(long_text + i, "\xc3\xa9", 3);
    err_set(&err, ERR_NEVER, "%s", long_text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal((unsigned char)err.text[strlen(err.text) - 1], 0xa9);
    err_set(&err, ERR_NEVER, "b%s", long_text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_formats_and_returns_minus_one),
        cmocka_unit_test(test_prefix_keeps_kind),
        cmocka_unit_test(test_long_text_is_cut_at_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
