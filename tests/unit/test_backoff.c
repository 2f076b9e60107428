/* Delays stay within their bounds at any number of failures, and spread evenly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "core/backoff.h"

static const struct backoff exponential = {
    .kind = BACKOFF_EXPONENTIAL, .base_ms = 2000, .cap_ms = 3600 * 1000};

static void test_the_ceiling_doubles_up_to_the_cap(void **state)
{
    static const struct {
        int failures;
        int64_t ceiling;
    } rows[] = {{0, 2000}, {1, 2000}, {2, 4000}, {3, 8000}, {11, 2048000}, {12, 3600000}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t whole = (uint64_t)rows[i].ceiling;

        assert_int_equal(backoff_delay_ms(&exponential, rows[i].failures, 0), 0);
        assert_int_equal(backoff_delay_ms(&exponential, rows[i].failures, whole), whole);
        assert_int_equal(backoff_delay_ms(&exponential, rows[i].failures, whole + 1), 0);
    }
}

static void test_b10_high_numbers_do_not_overflow(void **state)
{
    static const int failures[] = {31, 32, 62, 63, 64, 310, 1023, 1100, INT32_MAX};
    static const struct backoff huge = {
        .kind = BACKOFF_EXPONENTIAL, .base_ms = 1, .cap_ms = INT64_MAX};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        int64_t delay = backoff_delay_ms(&exponential, failures[i], UINT64_MAX);

        assert_true(delay >= 0 && delay <= exponential.cap_ms);
        assert_true(backoff_delay_ms(&huge, failures[i], UINT64_MAX) >= 0);
    }
}

static void test_a_list_goes_on_with_its_last(void **state)
{
    static const struct backoff list = {
        .kind = BACKOFF_LIST, .steps_ms = {60000, 300000, 900000}, .step_count = 3};
    static const int64_t expected[] = {60000, 60000, 300000, 900000, 900000, 900000};

    (void)state;
    for (int failures = 0; failures < (int)ARRAY_LEN(expected); failures++)
        assert_int_equal(backoff_delay_ms(&list, failures, 12345), expected[failures]);
    assert_int_equal(backoff_delay_ms(&list, INT32_MAX, 0), 900000);
}

static void test_nothing_configured_is_no_delay(void **state)
{
    static const struct backoff none = {.kind = BACKOFF_EXPONENTIAL},
                                empty = {.kind = BACKOFF_LIST};

    (void)state;
    assert_int_equal(backoff_delay_ms(&none, INT32_MAX, 77), 0);
    assert_int_equal(backoff_delay_ms(&empty, 3, 77), 0);
}

static void test_b28_delays_spread_evenly(void **state)
{
    enum { DRAWS = 50000, PARTS = 10 };
    int parts[PARTS] = {0};
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        int64_t delay;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        delay = backoff_delay_ms(&exponential, 12, x);
        parts[delay * PARTS / (exponential.cap_ms + 1)]++;
    }
    for (int i = 0; i < PARTS; i++)
        assert_in_range(parts[i], DRAWS / PARTS * 9 / 10, DRAWS / PARTS * 11 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ceiling_doubles_up_to_the_cap),
        cmocka_unit_test(test_b10_high_numbers_do_not_overflow),
        cmocka_unit_test(test_a_list_goes_on_with_its_last),
        cmocka_unit_test(test_nothing_configured_is_no_delay),
        cmocka_unit_test(test_b28_delays_spread_evenly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
