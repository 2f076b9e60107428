/* What a handler raises decides how its attempt ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "work/verdict.h"

static const struct provider_config provider = {
    .attempts = 3,
    .backoff = {.kind = BACKOFF_LIST, .steps_ms = {1000, 2000}, .step_count = 2},
    .defer_ms = 300000,
    .defer_limit_ms = 86400000,
    .timeout_ms = 30000,
};

static struct failure failure(const char *sqlstate, const char *message)
{
    return (struct failure){.sqlstate = sqlstate,
                            .message = message,
                            .detail = "",
                            .context = "in a function",
                            .fault = sqlstate_fault(sqlstate, NULL, message),
                            .took_s = 0.5,
                            .took_exactly = true};
}

static struct verdict judge(struct claimed event, struct failure failure)
{
    struct verdict verdict;

    verdict_of_failure(&provider, &event, &failure, 123, &verdict);
    return verdict;
}

static void test_each_state_has_its_outcome(void **state)
{
    static const struct {
        const char *sqlstate;
        enum outcome what;
        bool counts;
    } rows[] = {
        {"P0001", OUTCOME_RETRY, true},  {"23505", OUTCOME_RETRY, true},
        {"55P03", OUTCOME_RETRY, true},  {"53200", OUTCOME_RETRY, true},
        {"42883", OUTCOME_RETRY, true},  {"0A000", OUTCOME_RETRY, true},
        {"57014", OUTCOME_RETRY, true},  {"IBX01", OUTCOME_DEFER, false},
        {"IBX02", OUTCOME_DEAD, true},   {"40001", OUTCOME_AGAIN, false},
        {"40P01", OUTCOME_AGAIN, false}, {"08006", OUTCOME_RETRY, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict verdict =
            judge((struct claimed){.attempt = 1}, failure(rows[i].sqlstate, "no luck"));

        assert_int_equal(verdict.what, rows[i].what);
        assert_int_equal(verdict.counts, rows[i].counts);
        assert_false(verdict.suspect);
        verdict_release(&verdict);
    }
}

static void test_attempts_are_bounded_and_counted_from_the_replay(void **state)
{
    static const struct {
        int attempt, base;
        enum outcome what;
        double delay;
    } rows[] = {{1, 0, OUTCOME_RETRY, 1}, {2, 0, OUTCOME_RETRY, 2}, {3, 0, OUTCOME_DEAD, 0},
                {9, 0, OUTCOME_DEAD, 0},  {4, 3, OUTCOME_RETRY, 1}, {6, 3, OUTCOME_DEAD, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict verdict =
            judge((struct claimed){.attempt = rows[i].attempt, .attempt_base = rows[i].base},
                  failure("P0001", "no luck"));

        assert_int_equal(verdict.what, rows[i].what);
        assert_true(verdict.delay_s == rows[i].delay);
        assert_string_equal(verdict.error, "no luck (P0001)");
        verdict_release(&verdict);
    }
}

static void test_only_what_ran_as_long_as_it_may_timed_out(void **state)
{
    struct failure canceled = failure("57014", "canceling statement");
    struct verdict verdict;

    (void)state;
    canceled.took_s = 30.01;
    verdict = judge((struct claimed){.attempt = 1}, canceled);
    assert_int_equal(verdict.what, OUTCOME_TIMEOUT);
    assert_true(verdict.suspect);
    verdict_release(&verdict);
    verdict = judge((struct claimed){.attempt = 3}, canceled);
    assert_int_equal(verdict.what, OUTCOME_DEAD);
    verdict_release(&verdict);
}

static void test_deferrals_are_bounded(void **state)
{
    static const struct {
        const char *detail;
        double waited, delay;
        enum outcome what;
    } rows[] = {
        {"", 0, 300, OUTCOME_DEFER},    {"90.5", 0, 90.5, OUTCOME_DEFER},
        {"-5", 0, 0, OUTCOME_DEFER},    {"1e300", 0, 86400, OUTCOME_DEFER},
        {"nan", 0, 300, OUTCOME_DEFER}, {"inf", 86000, 400, OUTCOME_DEFER},
        {"", 86399, 1, OUTCOME_DEFER},  {"", 86400, 0, OUTCOME_DEAD},
        {"10", 1e9, 0, OUTCOME_DEAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct failure early = failure("IBX01", "no customer yet");
        struct verdict verdict;

        early.detail = rows[i].detail;
        verdict = judge((struct claimed){.attempt = 1, .deferred_for_s = rows[i].waited}, early);
        assert_int_equal(verdict.what, rows[i].what);
        assert_true(fabs(verdict.delay_s - rows[i].delay) < 1e-9);
        assert_non_null(strstr(verdict.error, "no customer yet"));
        assert_null(verdict.more);
        verdict_release(&verdict);
    }
}

static void test_the_limit_of_deferrals_is_said_as_it_is(void **state)
{
    static const struct {
        int64_t limit_ms;
        const char *error;
    } rows[] = {
        {1, "deferred for longer than defer_limit (0.001 s): too early"},
        {300, "deferred for longer than defer_limit (0.3 s): too early"},
        {1500, "deferred for longer than defer_limit (1.5 s): too early"},
        {86400000, "deferred for longer than defer_limit (86400 s): too early"},
        {315360000000, "deferred for longer than defer_limit (315360000 s): too early"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct provider_config config = provider;
        struct failure early = failure("IBX01", "too early");
        struct claimed event = {.attempt = 1, .deferred_for_s = 1e9};
        struct verdict verdict;

        config.defer_limit_ms = rows[i].limit_ms;
        verdict_of_failure(&config, &event, &early, 123, &verdict);
        assert_string_equal(verdict.error, rows[i].error);
        verdict_release(&verdict);
    }
}

static void test_b15_texts_are_cut_at_a_character(void **state)
{
    enum { SIZE = 2000000 };
    char *message = mem_alloc(SIZE + 1);
    struct failure long_one;
    struct verdict verdict;

    (void)state;
    memset(message, 'x', SIZE);
    memcpy(message + VERDICT_ERROR_MAX - 2, "\xf0\x9f\x98\x80", 4); /* across the cut */
    long_one = failure("P0001", message);
    long_one.detail = long_one.context = message;
    verdict = judge((struct claimed){.attempt = 1}, long_one);
    assert_true(utf8_valid(str_from(verdict.error)));
    assert_true(strlen(verdict.error) < VERDICT_ERROR_MAX + 64);
    assert_non_null(strstr(verdict.error, "[cut, 2000000 bytes in all] (P0001)"));
    assert_memory_equal(verdict.error + VERDICT_ERROR_MAX - 3, "x [cut", 6);
    assert_true(strlen(verdict.more) < 2 * 2048 + 200);
    verdict_release(&verdict);
    free(message);
}

static void test_details_are_kept_apart_from_what_errors_are_counted_by(void **state)
{
    struct failure duplicate = failure("23505", "duplicate key");
    struct verdict verdict;

    (void)state;
    duplicate.detail = "Key (id)=(7) already exists.";
    verdict = judge((struct claimed){.attempt = 1}, duplicate);
    assert_string_equal(verdict.error, "duplicate key (23505)");
    assert_string_equal(verdict.more,
                        "DETAIL: Key (id)=(7) already exists.\nCONTEXT: in a function");
    assert_string_equal(verdict.sqlstate, "23505");
    verdict_release(&verdict);
}

static void test_what_says_nothing_about_the_event(void **state)
{
    struct failure missing = failure("42883", "function a.b(inboxd.event) does not exist");
    struct failure full = failure("53100", "disk full"), own = failure("25006", "read-only");

    (void)state;
    assert_true(verdict_is_server(&full));
    assert_false(verdict_is_server(&own)); /* the handler's own doing */
    own.context = "";
    assert_true(verdict_is_server(&own));
    assert_false(verdict_is_missing(&missing)); /* raised inside of the handler */
    missing.context = "";
    assert_true(verdict_is_missing(&missing));
}

static struct verdict judge_result(enum handler_end end, char *error, char *more)
{
    struct claimed event = {.attempt = 1};
    struct handler_result result = {.end = end, .delay_s = -1, .error = error, .more = more};
    struct verdict verdict;

    verdict_of_result(&provider, &event, &result, 0.5, 123, &verdict);
    return verdict;
}

static void test_b15_what_plugins_and_programs_say_is_cut_and_made_text(void **state)
{
    enum { ERROR_SIZE = 64 * 1024 * 1024, MORE_SIZE = 1024 * 1024 };
    char *error = mem_alloc(ERROR_SIZE + 1), *more = mem_alloc(MORE_SIZE + 1);
    struct verdict verdict;

    (void)state;
    memset(error, 'x', ERROR_SIZE);
    error[1] = '\xff';
    memset(more, 'y', MORE_SIZE);
    verdict = judge_result(HANDLER_RETRY, error, more);
    assert_memory_equal(verdict.error, "x?x", 3);
    assert_non_null(strstr(verdict.error, "x [cut, 67108864 bytes in all]"));
    assert_true(strlen(verdict.error) < VERDICT_ERROR_MAX + 64);
    assert_int_equal(strlen(verdict.more), MORE_SIZE); /* exec_output bounds it */
    verdict_release(&verdict);
}

static void test_plugins_defer_for_as_long_as_a_provider_says_or_they_do(void **state)
{
    static const struct {
        double delay, waits;
    } rows[] = {{-1, 300}, {NAN, 300}, {0, 0}, {1.5, 1.5}, {INFINITY, 86400}, {-INFINITY, 300}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct claimed event = {.attempt = 1};
        struct handler_result result = {.end = HANDLER_DEFER, .delay_s = rows[i].delay};
        struct verdict verdict;

        verdict_of_result(&provider, &event, &result, 0.5, 123, &verdict);
        assert_int_equal(verdict.what, OUTCOME_DEFER);
        assert_float_equal(verdict.delay_s, rows[i].waits, 0.001);
        assert_string_equal(verdict.error, "deferred");
        verdict_release(&verdict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_state_has_its_outcome),
        cmocka_unit_test(test_attempts_are_bounded_and_counted_from_the_replay),
        cmocka_unit_test(test_only_what_ran_as_long_as_it_may_timed_out),
        cmocka_unit_test(test_deferrals_are_bounded),
        cmocka_unit_test(test_the_limit_of_deferrals_is_said_as_it_is),
        cmocka_unit_test(test_b15_texts_are_cut_at_a_character),
        cmocka_unit_test(test_details_are_kept_apart_from_what_errors_are_counted_by),
        cmocka_unit_test(test_what_says_nothing_about_the_event),
        cmocka_unit_test(test_b15_what_plugins_and_programs_say_is_cut_and_made_text),
        cmocka_unit_test(test_plugins_defer_for_as_long_as_a_provider_says_or_they_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
