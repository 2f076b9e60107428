/* Rate limits: how many may come at once, how they come again, and who counts as one sender. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/pace.h"
#include "ingest/rates.h"

#define S INT64_C(1000000)

static void test_as_many_as_the_rate_may_come_at_once_then_evenly(void **state)
{
    struct pace pace = {0};
    int64_t now = 5 * S;

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(pace_take(&pace, 10, S, now), 0);
    assert_int_equal(pace_take(&pace, 10, S, now), S / 10);
    assert_int_equal(pace_take(&pace, 10, S, now + S / 20), S / 20);
    assert_int_equal(pace_take(&pace, 10, S, now + S / 10), 0);
    assert_int_equal(pace_take(&pace, 10, S, now + S / 10), S / 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(pace_take(&pace, 10, S, now + 60 * S), 0);
    assert_int_equal(pace_take(&pace, 10, S, now + 60 * S), S / 10);
}

static void test_one_an_hour(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(pace_take(&pace, 1, 3600 * S, 0), 0);
    assert_int_equal(pace_take(&pace, 1, 3600 * S, S), 3599 * S);
    assert_int_equal(pace_take(&pace, 1, 3600 * S, 3600 * S), 0);
}

static struct provider_config providers[2];
static const struct config config = {.providers = providers, .provider_count = 2};

static int make_providers(void **state)
{
    (void)state;
    providers[0] = (struct provider_config){.rate = {3, S}};
    providers[1] = (struct provider_config){.rate = {100, S}, .rate_per_address = {2, 60 * S}};
    return 0;
}

static int64_t take(struct rates *rates, size_t provider, const char *ip)
{
    return rates_take(rates, provider, str_from(ip), 7 * S);
}

static void test_the_rate_of_a_provider_counts_all_its_senders(void **state)
{
    struct rates *rates = rates_new(&config);

    (void)state;
    assert_int_equal(take(rates, 0, "192.0.2.1"), 0);
    assert_int_equal(take(rates, 0, "192.0.2.2"), 0);
    assert_int_equal(take(rates, 0, NULL), 0);
    assert_int_equal(take(rates, 0, "192.0.2.3"), 1);
    assert_int_equal(rates_take(rates, 0, STR("192.0.2.3"), 8 * S), 0);
    rates_free(rates);
}

static void test_senders_are_counted_apart(void **state)
{
    struct rates *rates = rates_new(&config);

    (void)state;
    assert_int_equal(take(rates, 1, "192.0.2.1"), 0);
    assert_int_equal(take(rates, 1, "192.0.2.1"), 0);
    assert_int_equal(take(rates, 1, "192.0.2.1"), 30);
    assert_int_equal(take(rates, 1, "192.0.2.2"), 0);
    /* the same network of 64 bits */
    assert_int_equal(take(rates, 1, "2001:db8:1:2::1"), 0);
    assert_int_equal(take(rates, 1, "2001:db8:1:2:ffff::9"), 0);
    assert_int_equal(take(rates, 1, "2001:db8:1:2::77"), 30);
    assert_int_equal(take(rates, 1, "2001:db8:1:3::77"), 0);
    /* those whose address is not known are one */
    assert_int_equal(take(rates, 1, NULL), 0);
    assert_int_equal(take(rates, 1, NULL), 0);
    assert_int_equal(take(rates, 1, NULL), 30);
    rates_free(rates);
}

static void test_a_sender_that_is_refused_takes_nothing_from_the_others(void **state)
{
    struct rates *rates = rates_new(&config);
    char ip[32];
    int well = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        take(rates, 1, "192.0.2.1");
    for (int i = 0; i < 98; i++) {
        snprintf(ip, sizeof(ip), "198.51.100.%d", i);
        well += take(rates, 1, ip) == 0;
    }
    assert_int_equal(well, 98);
    assert_int_equal(take(rates, 1, "203.0.113.1"), 1); /* a hundred in all */
    rates_free(rates);
}

static void test_any_number_of_senders_is_held_in_bounded_memory(void **state)
{
    struct rates *rates = rates_new(&config);
    char ip[32];

    (void)state;
    providers[1].rate.count = 0;
    take(rates, 1, "192.0.2.1");
    take(rates, 1, "192.0.2.1");
    for (int i = 0; i < 200000; i++) {
        snprintf(ip, sizeof(ip), "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        assert_int_equal(take(rates, 1, ip), 0);
    }
    /* who came twice is remembered longer than who came once */
    assert_int_equal(take(rates, 1, "192.0.2.1"), 30);
    rates_free(rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_the_rate_may_come_at_once_then_evenly),
        cmocka_unit_test(test_one_an_hour),
        cmocka_unit_test_setup(test_the_rate_of_a_provider_counts_all_its_senders, make_providers),
        cmocka_unit_test_setup(test_senders_are_counted_apart, make_providers),
        cmocka_unit_test_setup(test_a_sender_that_is_refused_takes_nothing_from_the_others,
                               make_providers),
        cmocka_unit_test_setup(test_any_number_of_senders_is_held_in_bounded_memory,
                               make_providers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
