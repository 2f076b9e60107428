/* Routes of a configuration with their actions as calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "work/plan.h"

static struct plan *plan_of(const char *lines)
{
    struct mistakes *mistakes = mistakes_new();
    char *text = mem_printf("[provider p]\nverify = none\nevent_id = body:/id\n"
                            "event_type = body:/type\n%s\n",
                            lines);
    struct config *config = config_parse("test.conf", str_from(text), mistakes);
    struct plan *plan;

    assert_non_null(config);
    plan = plan_new(config);
    config_unref(config);
    mistakes_free(mistakes);
    free(text);
    return plan;
}

static void test_calls_are_quoted(void **state)
{
    struct plan *plan = plan_of("on = sql:order.select, sql:b.two\non ping = ignore");
    const struct plan_route *route;

    (void)state;
    assert_int_equal(plan->count, 1);
    route = plan_find(&plan->providers[0], STR_NONE);
    assert_int_equal(route->count, 2);
    assert_string_equal(route->actions[0].call,
                        "select \"order\".\"select\"(inboxd.load_event($1, $2))");
    assert_string_equal(route->actions[1].call, "select \"b\".\"two\"(inboxd.load_event($1, $2))");
    assert_int_equal(route->route->class, WORK_SQL);
    assert_ptr_equal(plan_find(&plan->providers[0], STR("ping"))->actions[0].kind, &handler_ignore);
    plan_unref(plan);
}

static void test_nothing_of_a_pull_route_runs_here(void **state)
{
    struct plan *plan = plan_of("on = sql:a.b\non x* = pull");
    const struct plan_route *route = plan_find(&plan->providers[0], STR("xy"));

    (void)state;
    assert_int_equal(route->route->class, WORK_PULL);
    assert_int_equal(route->count, 0);
    plan_unref(plan);
}

static void test_a_provider_whose_routes_are_wrong_is_left_out(void **state)
{
    struct plan *plan = plan_of("on = sql:wrong");

    (void)state;
    assert_int_equal(plan->count, 0);
    plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_are_quoted),
        cmocka_unit_test(test_nothing_of_a_pull_route_runs_here),
        cmocka_unit_test(test_a_provider_whose_routes_are_wrong_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
