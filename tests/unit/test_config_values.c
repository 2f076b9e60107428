/* Values that are right, and what they become; how far two names are apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/listen.h"
#include "config/value.h"

#define S INT64_C(1000)
#define D (86400 * S)

static void test_numbers(void **state)
{
    static const struct {
        enum key_type type;
        const char *text;
        int64_t value;
        const char *back; /* how it is written back */
    } cases[] = {
        {KEY_COUNT, "0", 0, "0"},
        {KEY_COUNT, "007", 7, "7"},
        {KEY_COUNT, "9223372036854775807", INT64_MAX, "9223372036854775807"},
        {KEY_SIZE, "0", 0, "0"},
        {KEY_SIZE, "1", 1, "1"},
        {KEY_SIZE, "1K", 1024, "1K"},
        {KEY_SIZE, "1536K", 1536 * 1024, "1536K"},
        {KEY_SIZE, "1048576", 1048576, "1M"},
        {KEY_SIZE, "2G", INT64_C(2) << 30, "2G"},
        {KEY_SIZE, "1025", 1025, "1025"},
        {KEY_DURATION, "0", 0, "0s"},
        {KEY_DURATION, "0d", 0, "0s"},
        {KEY_DURATION, "1ms", 1, "1ms"},
        {KEY_DURATION, "1500ms", 1500, "1500ms"},
        {KEY_DURATION, "5s", 5 * S, "5s"},
        {KEY_DURATION, "90s", 90 * S, "90s"},
        {KEY_DURATION, "60s", 60 * S, "1m"},
        {KEY_DURATION, "15m", 900 * S, "15m"},
        {KEY_DURATION, "24h", D, "1d"},
        {KEY_DURATION, "400d", 400 * D, "400d"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct key key = {.type = cases[i].type, .min = 0, .max = INT64_MAX};
        char text[VALUE_TEXT_SIZE];
        struct err err = {0};
        int64_t value = -1;

        assert_int_equal(value_number(&key, str_from(cases[i].text), &value, &err), 0);
        assert_int_equal(value, cases[i].value);
        value_format(cases[i].type, value, text);
        assert_string_equal(text, cases[i].back);
    }
}

static void test_numbers_that_are_none(void **state)
{
    static const char *const texts[] = {"",  " 1",   "1 ", "+1",  "0x1",  "1e3", "1.0",      "1,0",
                                        "s", "1sec", "1S", "1M1", "1mss", "--1", "\xd9\xa1s"};
    static const enum key_type types[] = {KEY_COUNT, KEY_SIZE, KEY_DURATION};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t k = 0; k < 3; k++) {
            struct key key = {.type = types[k], .min = 0, .max = INT64_MAX};
            struct err err = {0};
            int64_t value = -1;

            assert_int_equal(value_number(&key, str_from(texts[i]), &value, &err), -1);
            assert_int_equal(err.kind, ERR_INPUT);
            assert_int_equal(value, -1);
        }
    }
}

static void test_addresses(void **state)
{
    static const struct {
        const char *text;
        enum listen_kind kind;
        const char *host;
        int port;
        const char *path;
    } cases[] = {
        {"127.0.0.1:8080", LISTEN_TCP, "127.0.0.1", 8080, NULL},
        {"0.0.0.0:0", LISTEN_TCP, "0.0.0.0", 0, NULL},
        {"[::1]:65535", LISTEN_TCP, "::1", 65535, NULL},
        {"[::]:80", LISTEN_TCP, "::", 80, NULL},
        {"unix:/run/inboxd/http.sock", LISTEN_UNIX, NULL, 0, "/run/inboxd/http.sock"},
        {"systemd", LISTEN_SYSTEMD, NULL, 0, NULL},
    };
    struct arena *arena = arena_new(1024);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct listen_address address;
        struct err err = {0};

        assert_int_equal(value_address(str_from(cases[i].text), arena, &address, &err), 0);
        assert_int_equal(address.kind, cases[i].kind);
        assert_int_equal(address.port, cases[i].port);
        assert_true(cases[i].host ? str_is(address.host, cases[i].host) : !address.host.ptr);
        assert_true(cases[i].path ? str_is(address.path, cases[i].path) : !address.path.ptr);
    }
    arena_free(arena);
}

static void test_backoff(void **state)
{
    const struct key *key = key_find(KEY_PROVIDER, STR("backoff"));
    struct backoff backoff;
    struct err err = {0};

    (void)state;
    assert_int_equal(value_backoff(key, STR("exponential 500ms  15m"), &backoff, &err), 0);
    assert_int_equal(backoff.kind, BACKOFF_EXPONENTIAL);
    assert_int_equal(backoff.base_ms, 500);
    assert_int_equal(backoff.cap_ms, 900 * S);
    assert_int_equal(value_backoff(key, STR("1m, 5m ,15m"), &backoff, &err), 0);
    assert_int_equal(backoff.kind, BACKOFF_LIST);
    assert_int_equal(backoff.step_count, 3);
    assert_int_equal(backoff.steps_ms[0], 60 * S);
    assert_int_equal(backoff.steps_ms[1], 300 * S);
    assert_int_equal(backoff.steps_ms[2], 900 * S);
    assert_int_equal(value_backoff(key, STR("0"), &backoff, &err), 0);
    assert_int_equal(backoff.step_count, 1);
    assert_int_equal(backoff.steps_ms[0], 0);
}

static void test_bounds(void **state)
{
    static const char *const wrong[] = {
        "",         "1000",       "1000 10", "0 10M",    "1000001 10M",
        "10M 1000", "1000 10M 0", "1 1M x",  "1 1M 2 3", "1 65G"};
    struct quarantine_bounds bounds;
    struct err err = {0};

    (void)state;
    assert_int_equal(value_bounds(STR("1000 10M"), &bounds, &err), 0);
    assert_int_equal(bounds.rows, 1000);
    assert_int_equal(bounds.bytes, 10 << 20);
    assert_int_equal(bounds.per_minute, QUARANTINE_PER_MINUTE);
    assert_int_equal(value_bounds(STR(" 1  1K   7 "), &bounds, &err), 0);
    assert_int_equal(bounds.rows, 1);
    assert_int_equal(bounds.bytes, 1024);
    assert_int_equal(bounds.per_minute, 7);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(value_bounds(str_from(wrong[i]), &bounds, &err), -1);
        assert_non_null(strstr(err.text, "such as 1000 10M or 1000 10M 120"));
        assert_int_equal(bounds.per_minute, 7);
    }
}

static void test_tolerance(void **state)
{
    static const struct {
        const char *text;
        int64_t past_ms, future_ms;
        const char *want; /* what is said; NULL: it is right */
    } cases[] = {
        {"5m", 300 * S, 300 * S, NULL},
        {"0", 0, 0, NULL},
        {"0s", 0, 0, NULL},
        {"past 5m future 1m", 300 * S, 60 * S, NULL},
        {"past  1500ms   future 0", 1500, 0, NULL},
        {"", 0, 0, "\"\" is not a duration; write a duration, such as 5m, or one for each way"},
        {"5", 0, 0, "\"5\" is not a duration"},
        {"5m 1m", 0, 0, "\"5m 1m\" is not a duration"},
        {"8d", 0, 0, "\"8d\" is too large; write a duration up to 7d"},
        {"past 5m", 0, 0, "past 5m does not name both ways; write a duration, such as 5m"},
        {"past", 0, 0, "past  does not name both ways"},
        {"past 5m 1m", 0, 0, "past 5m 1m does not name both ways"},
        {"past 5m future", 0, 0, "past 5m future does not name both ways"},
        {"past 5m future 1m 2m", 0, 0, "past 5m future 1m 2m does not name both ways"},
        {"past x future 1m", 0, 0, "\"x\" is not a duration"},
        {"past 1m future -1s", 0, 0, "\"-1s\" is not a duration"},
        {"past 1m future 8d", 0, 0, "\"8d\" is too large"},
        {"past 0 future 1m", 0, 0,
         "no time is as new as past 0 wants it; write tolerance = 0 where none is to be checked"},
        {"future 1m past 5m", 0, 0, "\"future 1m past 5m\" is not a duration"},
    };
    const struct key *key = key_find(KEY_PROVIDER, STR("tolerance"));

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tolerance tolerance = {-1, -1};
        struct err err = {0};
        int rc = value_tolerance(key, str_from(cases[i].text), &tolerance, &err);

        if ((rc < 0) != (cases[i].want != NULL) ||
            (rc < 0 && !str_starts(str_from(err.text), str_from(cases[i].want))))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(tolerance.past_ms, rc < 0 ? -1 : cases[i].past_ms);
        assert_int_equal(tolerance.future_ms, rc < 0 ? -1 : cases[i].future_ms);
    }
}

static void test_shown_values_are_cut(void **state)
{
    char shown[VALUE_SHOWN_SIZE];
    char text[200];

    (void)state;
    memset(text, 'x', sizeof(text));
    value_show((struct str){text, 3}, shown);
    assert_string_equal(shown, "\"xxx\"");
    value_show((struct str){text, sizeof(text)}, shown);
    assert_int_equal(strlen(shown), VALUE_SHOWN_SIZE - 3);
    assert_string_equal(shown + strlen(shown) - 5, "x...\"");
}

static void test_distance(void **state)
{
    char text[70] = {0};

    (void)state;
    assert_int_equal(key_distance(STR("workers"), STR("workers")), 0);
    assert_int_equal(key_distance(STR("Max-Body"), STR("max_body")), 0);
    assert_int_equal(key_distance(STR(""), STR("abc")), 3);
    assert_int_equal(key_distance(STR("abc"), STR("")), 3);
    assert_int_equal(key_distance(STR("stirpe"), STR("stripe")), 1);
    assert_int_equal(key_distance(STR("worker"), STR("workers")), 1);
    assert_int_equal(key_distance(STR("wrokres"), STR("workers")), 2);
    assert_int_equal(key_distance(STR("kitten"), STR("sitting")), 3);
    memset(text, 'x', 65);
    assert_true(key_distance(str_from(text), STR("x")) == SIZE_MAX);
    assert_string_equal(key_nearest(KEY_INBOXD, STR("listn"))->name, "listen");
    assert_string_equal(key_nearest(KEY_PROVIDER, STR("eventid"))->name, "event_id");
    assert_null(key_nearest(KEY_INBOXD, STR("frobnicate")));
    assert_null(key_nearest(KEY_INBOXD, STR("secret")));
    assert_null(key_nearest(KEY_INBOXD, str_from(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_shown_values_are_cut),
        cmocka_unit_test(test_distance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
