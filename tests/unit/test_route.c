/* Exact types before the longest pattern before the plain one; actions become calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "work/route.h"

#define MAX_ROUTES 8

static struct route_config lines[MAX_ROUTES];

static struct route_config line(const char *pattern, const char *actions)
{
    return (struct route_config){.pattern = {str_from(pattern), "test", 1},
                                 .actions = {str_from(actions), "test", 1}};
}

static int compile(size_t count, struct arena *arena, struct routes *routes, struct err *err)
{
    struct provider_config config = {.name = STR("p"), .routes = lines, .route_count = count};

    return routes_compile(&config, arena, routes, err);
}

static void assert_action(const struct routes *routes, const char *type, const char *name)
{
    const struct route *route = routes_find(routes, str_from(type));

    assert_int_equal(route->count, 1);
    assert_true(str_is(route->actions[0].name, name));
}

static void test_the_most_special_line_counts(void **state)
{
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    lines[0] = line(NULL, "sql:a.plain");
    lines[1] = line("invoice.*", "sql:a.invoice");
    lines[2] = line("invoice.paid", "sql:a.paid");
    lines[3] = line("*", "sql:a.any");
    lines[4] = line("invoice.paid.*", "sql:a.longer");
    lines[5] = line("ping", "ignore");
    assert_int_equal(compile(6, arena, &routes, NULL), 0);
    assert_action(&routes, NULL, "a.plain");
    assert_action(&routes, "invoice.paid", "a.paid");
    assert_action(&routes, "invoice.", "a.invoice");
    assert_action(&routes, "invoice.void", "a.invoice");
    assert_action(&routes, "invoice.paid.late", "a.longer");
    assert_action(&routes, "invoice", "a.any");
    assert_action(&routes, "", "a.any");
    assert_ptr_equal(routes_find(&routes, STR("ping"))->actions[0].kind, &handler_ignore);
    arena_free(arena);
}

static void test_calls_are_quoted(void **state)
{
    struct arena *arena = arena_new(1024);
    struct routes routes;
    const struct route *route;

    (void)state;
    lines[0] = line(NULL, "sql:order.select, sql:b.two");
    assert_int_equal(compile(1, arena, &routes, NULL), 0);
    route = routes_find(&routes, STR_NONE);
    assert_int_equal(route->count, 2);
    assert_string_equal(route->actions[0].call,
                        "select \"order\".\"select\"(inboxd.load_event($1, $2))");
    assert_true(str_is(route->actions[1].name, "b.two"));
    assert_int_equal(route->class, WORK_SQL);
    arena_free(arena);
}

static void test_what_is_no_action_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",          "sql",      "sql:",         "sql:fn",      "sql:a.",    "sql:.b",
        "sql:a.b.c", "sql:A.b",  "sql:a.b()",    "sql:a.\"b\"", "ignore:me", "nothing",
        "sql:a.b,",  "sql:1a.b", "sql:a.b;drop", "sql:a b.c",   "module:a",  ",sql:a.b",
    };
    struct arena *arena = arena_new(1024);
    struct routes routes;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        lines[0] = line(NULL, wrong[i]);
        assert_int_equal(compile(1, arena, &routes, &err), -1);
        assert_int_equal(err.kind, ERR_INPUT);
    }
    lines[0] = line("a", "ignore");
    assert_int_equal(compile(1, arena, &routes, &err), -1);
    assert_int_equal(compile(0, arena, &routes, &err), -1);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_most_special_line_counts),
        cmocka_unit_test(test_calls_are_quoted),
        cmocka_unit_test(test_what_is_no_action_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
