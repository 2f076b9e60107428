/* Whose turn it is among the providers, with their weights; and who looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "work/schedule.h"

#define PROVIDERS 3

/* Providers a, b, c; all of them have something to claim. */
struct fixture {
    struct provider_config configs[PROVIDERS];
    struct plan_provider providers[PROVIDERS];
    struct plan plan;
    struct schedule schedule;
};

static void set_up(struct fixture *f, int a, int b, int c)
{
    static const char *const names[] = {"a", "b", "c"};
    int weights[] = {a, b, c};

    *f = (struct fixture){.plan = {.providers = f->providers, .count = PROVIDERS}};
    for (size_t i = 0; i < PROVIDERS; i++) {
        f->configs[i] = (struct provider_config){
            .name = str_from(names[i]), .concurrency = 1, .weight = weights[i]};
        f->providers[i] = (struct plan_provider){.config = &f->configs[i]};
    }
    schedule_set_plan(&f->schedule, &f->plan);
    for (size_t i = 0; i < PROVIDERS; i++)
        for (int queue = 0; queue < QUEUE_COUNT; queue++)
            f->schedule.sources[i]->feeds[queue].ready = queue == QUEUE_SQL;
}

static void want(struct fixture *f, size_t n, bool wants)
{
    f->schedule.sources[n]->feeds[QUEUE_SQL].ready = wants;
}

static void assert_picks(struct fixture *f, const char *expected)
{
    for (const char *at = expected; *at; at++) {
        enum queue queue;
        struct source *source = schedule_pick(&f->schedule, &f->plan, 0, &queue);

        if (*at == '-') {
            assert_null(source);
            continue;
        }
        assert_non_null(source);
        assert_int_equal(source->name.ptr[0], *at);
        assert_int_equal(queue, QUEUE_SQL);
    }
}

static void test_without_weights_each_has_one_turn(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 1, 1, 1);
    assert_picks(&f, "abcabcabc");
    schedule_release(&f.schedule);
}

static void test_a_weight_is_so_many_turns_in_a_row(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 3, 1, 2);
    assert_picks(&f, "aaabccaaabcc");
    schedule_release(&f.schedule);
}

static void test_the_largest_weight_keeps_nobody_from_theirs(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 1, 100, 1);
    for (int round = 0; round < 2; round++) {
        assert_picks(&f, "a");
        for (int i = 0; i < 100; i++)
            assert_picks(&f, "b");
        assert_picks(&f, "c");
    }
    schedule_release(&f.schedule);
}

static void test_turns_that_are_not_wanted_are_the_others(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 3, 1, 2);
    assert_picks(&f, "a");
    want(&f, 0, false);
    assert_picks(&f, "bccbcc");
    want(&f, 0, true);
    assert_picks(&f, "aaabcca");
    want(&f, 0, false);
    want(&f, 1, false);
    want(&f, 2, false);
    assert_picks(&f, "-");
    want(&f, 2, true);
    assert_picks(&f, "ccccc");
    schedule_release(&f.schedule);
}

static void test_concurrency_bounds_a_weight(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 3, 1, 1);
    assert_picks(&f, "a");
    f.schedule.sources[0]->running = 1;
    assert_picks(&f, "bcbc");
    f.schedule.sources[0]->running = 0;
    assert_picks(&f, "aaab");
    schedule_release(&f.schedule);
}

static void test_a_reload_changes_weights_at_once(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 3, 1, 1);
    assert_picks(&f, "aa");
    f.configs[0].weight = 1;
    f.configs[1].weight = 2;
    schedule_set_plan(&f.schedule, &f.plan);
    assert_picks(&f, "abbcabbc");
    schedule_release(&f.schedule);
}

static void test_b06_another_looks_while_the_first_look_hangs(void **state)
{
    struct fixture f;
    struct look sweep = {0}, other = {0};
    int64_t now = clock_mono_us();

    (void)state;
    set_up(&f, 1, 1, 1);
    assert_true(schedule_look_due(&f.schedule, now));
    schedule_look_begin(&f.schedule, &sweep, now);
    assert_int_equal(sweep.kind, LOOK_SWEEP);
    assert_false(schedule_look_due(&f.schedule, now + 900 * 1000));
    assert_true(schedule_look_due(&f.schedule, now + 1000 * 1000));
    assert_false(schedule_look_due(&f.schedule, now + 1100 * 1000));
    schedule_look_begin(&f.schedule, &other, now + 900 * 1000);
    assert_int_not_equal(other.kind, LOOK_SWEEP); /* which hangs, maybe, since it is one */
    schedule_look_end(&f.schedule, &other, true, 1000);
    schedule_look_end(&f.schedule, &sweep, false, 60 * 1000 * 1000);
    assert_false(schedule_look_due(&f.schedule, clock_mono_us()));
    look_release(&other);
    look_release(&sweep);
    schedule_release(&f.schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_weights_each_has_one_turn),
        cmocka_unit_test(test_a_weight_is_so_many_turns_in_a_row),
        cmocka_unit_test(test_the_largest_weight_keeps_nobody_from_theirs),
        cmocka_unit_test(test_turns_that_are_not_wanted_are_the_others),
        cmocka_unit_test(test_concurrency_bounds_a_weight),
        cmocka_unit_test(test_a_reload_changes_weights_at_once),
        cmocka_unit_test(test_b06_another_looks_while_the_first_look_hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
