/* Times as senders write them, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "provider/event_time.h"

#define US INT64_C(1000000)
#define Y2000 (INT64_C(946684800) * US)
#define AT (INT64_C(1700000000) * US - Y2000) /* 2023-11-14T22:13:20Z */

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"1700000000", AT},
        {"1700000000.25", AT + US / 4},
        {"1700000000.123456789", AT + 123456},
        {"1700000000000", AT},
        {"1700000000123", AT + 123000},
        {"1700000000123.5", AT + 123500},
        {"1700000000123456", AT + 123456},
        {"0", -Y2000},
        {"99999999999", INT64_C(99999999999) * US - Y2000},
        {"2023-11-14T22:13:20Z", AT},
        {"2023-11-14t22:13:20.5z", AT + US / 2},
        {"2023-11-14T23:13:20.123456789+01:00", AT + 123456},
        {"2023-11-14T22:13:20", AT},
        {"2023-11-14T22:13:20.5", AT + US / 2},
        {"2000-01-01T00:00:00Z", 0},
        {"0001-01-01T00:00:00Z", -INT64_C(62135596800) * US - Y2000},
        {"0000-12-31T23:59:59Z", -INT64_C(62135596801) * US - Y2000},
        {"0000-03-01T00:00:00Z", -INT64_C(62162035200) * US - Y2000},
        {"0000-02-29T00:00:00Z", -INT64_C(62162121600) * US - Y2000},
        {"0000-01-01T00:00:00Z", -INT64_C(62167219200) * US - Y2000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us = -1;

        if (!event_time_read(str_from(cases[i].text), &us) || us != cases[i].us)
            fail_msg("%s: %lld", cases[i].text, (long long)us);
    }
}

static void test_what_is_no_time(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "-1",
        "+1",
        "1.",
        ".5",
        "1.5.5",
        "12a",
        "1e9",
        "0x10",
        "true",
        "170000000000000000",
        "99999999999999999999",
        "2023-11-14",
        "22:13:20",
        "2023-02-30T00:00:00Z",
        "2023-11-14T25:00:00Z",
        "2023-11-14T22:13:20 ",
        "2023-11-14T22:13:20+0100",
        "Tue, 14 Nov 2023 22:13:20 GMT",
        "2023-11-14T22:13:20.0000000000000000000000000000000000000000",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        int64_t us = 77;

        if (event_time_read(str_from(texts[i]), &us))
            fail_msg("%s: %lld", texts[i], (long long)us);
        assert_int_equal(us, 77);
    }
    assert_false(event_time_read(STR_NONE, &(int64_t){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_what_is_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
