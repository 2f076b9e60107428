/* Exact types before the longest pattern before the plain one; what may stand in a line; which
 * class it makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "route/route.h"

#define MAX_ROUTES 8

static struct route_config lines[MAX_ROUTES];

static struct route_config line(const char *pattern, const char *actions)
{
    return (struct route_config){.pattern = {str_from(pattern), "test", 1},
                                 .actions = {str_from(actions), "test", 7}};
}

static struct mistakes *mistakes;

static bool compile(size_t count, struct arena *arena, struct routes *routes)
{
    struct provider_config config = {.name = STR("p"),
                                     .file = "test",
                                     .line = 3,
                                     .order = ORDER_SERIAL,
                                     .key = {STR("body:/key"), "test", 4},
                                     .routes = lines,
                                     .route_count = count};

    mistakes_free(mistakes);
    mistakes = mistakes_new();
    return routes_compile(&config, arena, routes, mistakes);
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
    assert_true(compile(6, arena, &routes));
    assert_action(&routes, NULL, "a.plain");
    assert_action(&routes, "invoice.paid", "a.paid");
    assert_action(&routes, "invoice.", "a.invoice");
    assert_action(&routes, "invoice.void", "a.invoice");
    assert_action(&routes, "invoice.paid.late", "a.longer");
    assert_action(&routes, "invoice", "a.any");
    assert_action(&routes, "", "a.any");
    assert_int_equal(routes_find(&routes, STR("ping"))->actions[0].kind, ROUTE_IGNORE);
    arena_free(arena);
}

static void test_a_line_makes_a_class(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        enum work_class class;
        bool coalesce;
    } cases[] = {
        {"ignore", 1, WORK_SQL, false},
        {"sql:a.b", 1, WORK_SQL, false},
        {"sql:_a._b, sql:billing.on_event$2", 2, WORK_SQL, false},
        {"coalesce, sql:a.b", 1, WORK_SQL, true},
        {"coalesce,exec:/usr/bin/true", 1, WORK_LEASED, true},
        {"module:a-b_9", 1, WORK_LEASED, false},
        {"sql:a.b , exec:/x/y z, sql:a.c", 3, WORK_LEASED, false},
        {"exec:/x, sql:a.b", 2, WORK_LEASED, false},
        {"pull", 1, WORK_PULL, false},
        {"sql:a23456789012345678901234567890123456789012345678901234567890123.b", 1, WORK_SQL,
         false},
    };
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        lines[0] = line(NULL, cases[i].text);
        if (!compile(1, arena, &routes))
            fail_msg("%s: %s", cases[i].text, mistakes_get(mistakes, 0)->text);
        assert_int_equal(routes.routes[0].count, cases[i].count);
        assert_int_equal(routes.routes[0].class, cases[i].class);
        assert_int_equal(routes.routes[0].coalesce, cases[i].coalesce);
        for (int class = WORK_SQL; class <= WORK_PULL; class ++)
            assert_int_equal(routes_have(&routes, (enum work_class) class),
                             class == (int)cases[i].class);
    }
    arena_free(arena);
}

static void test_actions_keep_their_order(void **state)
{
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    lines[0] = line(NULL, "sql:a.b, module:m, exec:/bin/x, sql:a.c");
    assert_true(compile(1, arena, &routes));
    assert_int_equal(routes.routes[0].count, 4);
    assert_true(str_is(routes.routes[0].actions[0].name, "a.b"));
    assert_int_equal(routes.routes[0].actions[1].kind, ROUTE_MODULE);
    assert_true(str_is(routes.routes[0].actions[1].name, "m"));
    assert_int_equal(routes.routes[0].actions[2].kind, ROUTE_EXEC);
    assert_true(str_is(routes.routes[0].actions[2].name, "/bin/x"));
    assert_true(str_is(routes.routes[0].actions[3].name, "a.c"));
    arena_free(arena);
}

#define NO_FUNCTION "does not name a function"
#define NO_ACTION                                                                                  \
    "is not an action; write sql:SCHEMA.FUNCTION, module:NAME, exec:/PATH, pull or ignore"

static void test_what_is_no_line_is_refused(void **state)
{
    static const struct {
        const char *text, *want;
    } wrong[] = {
        {"", NO_ACTION},
        {"sql", NO_ACTION},
        {"sql:", NO_FUNCTION},
        {"sql:fn", NO_FUNCTION},
        {"sql:a.", NO_FUNCTION},
        {"sql:.b", NO_FUNCTION},
        {"sql:a.b.c", NO_FUNCTION},
        {"sql:A.b", NO_FUNCTION},
        {"sql:a.b()", NO_FUNCTION},
        {"sql:a.\"b\"", NO_FUNCTION},
        {"sql:1a.b", NO_FUNCTION},
        {"sql:a.b;drop", NO_FUNCTION},
        {"sql: a.b", NO_FUNCTION},
        {"sql:a b.c", NO_FUNCTION},
        {"sql:a234567890123456789012345678901234567890123456789012345678901234.b", NO_FUNCTION},
        {"ignore:me", NO_ACTION},
        {"IGNORE", NO_ACTION},
        {"nothing", NO_ACTION},
        {"sql:a.b,", NO_ACTION},
        {",sql:a.b", NO_ACTION},
        {"module", NO_ACTION},
        {"module:", "does not name a module"},
        {"module:../x", "does not name a module"},
        {"module:a.b", "does not name a module"},
        {"exec:", "does not name a program"},
        {"exec:/", "does not name a program"},
        {"exec:bin/x", "does not name a program"},
        {"exec:/bin/", "does not name a program"},
        {"pull:x", NO_ACTION},
        {"pull, sql:a.b", "pull stands alone"},
        {"exec:/bin/x, pull", "pull stands alone"},
        {"coalesce, pull", "pull stands alone"},
        {"ignore, sql:a.b", "ignore stands alone"},
        {"coalesce, ignore", "ignore stands alone"},
        {"coalesce", "coalesce is not an action"},
        {"sql:a.b, coalesce", "coalesce is for the whole line; write it first"},
        {"coalesce, coalesce, sql:a.b", "coalesce is for the whole line; write it first"},
        {"sql:a.b, sql:a.c, sql:a.b", "an action stands there twice; write it once"},
    };
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        const struct mistake *mistake;

        lines[0] = line("a.b", wrong[i].text);
        lines[1] = line(NULL, "ignore");
        if (compile(2, arena, &routes))
            fail_msg("%s was taken", wrong[i].text);
        assert_int_equal(mistakes_count(mistakes), 1);
        mistake = mistakes_get(mistakes, 0);
        assert_string_equal(mistake->file, "test");
        assert_int_equal(mistake->line, 7);
        assert_true(str_starts(str_from(mistake->text), STR("provider \"p\": on a.b: ")));
        if (!strstr(mistake->text, wrong[i].want))
            fail_msg("%s: %s", wrong[i].text, mistake->text);
    }
    arena_free(arena);
}

static void test_a_plain_on_is_required(void **state)
{
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    lines[0] = line("a", "ignore");
    assert_false(compile(1, arena, &routes));
    assert_int_equal(mistakes_get(mistakes, 0)->line, 3);
    assert_non_null(strstr(mistakes_get(mistakes, 0)->text, "there is no plain on"));
    assert_false(compile(0, arena, &routes));
    arena_free(arena);
}

static void test_coalesce_needs_a_key_in_order(void **state)
{
    static const struct {
        enum order order;
        struct str key;
        const char *want;
    } cases[] = {
        {ORDER_NONE, STR_NONE, "write key = SOURCE"},
        {ORDER_NONE, {"body:/k", 7}, "write order = serial or strict"},
        {ORDER_SERIAL, {"body:/k", 7}, NULL},
        {ORDER_STRICT, {"body:/k", 7}, NULL},
    };
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    lines[0] = line(NULL, "coalesce, sql:a.b");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct provider_config config = {.name = STR("p"),
                                         .order = cases[i].order,
                                         .key = {cases[i].key, "test", 4},
                                         .routes = lines,
                                         .route_count = 1};

        mistakes_free(mistakes);
        mistakes = mistakes_new();
        assert_int_equal(routes_compile(&config, arena, &routes, mistakes), !cases[i].want);
        if (cases[i].want)
            assert_non_null(strstr(mistakes_get(mistakes, 0)->text, cases[i].want));
    }
    arena_free(arena);
}

static void test_pull_keeps_the_order_alone(void **state)
{
    static const struct {
        enum order order;
        const char *other, *machine, *want;
    } cases[] = {
        {ORDER_SERIAL, "ignore", NULL, NULL},
        {ORDER_SERIAL, "pull", NULL, NULL},
        {ORDER_NONE, "sql:a.b", NULL, NULL},
        {ORDER_SERIAL, "sql:a.b", NULL, "write order = none, or pull or ignore on every line"},
        {ORDER_STRICT, "exec:/x", NULL, "write order = none, or pull or ignore on every line"},
        {ORDER_SERIAL, "pull", "m", "let the application call inboxd.advance()"},
    };
    struct arena *arena = arena_new(1024);
    struct routes routes;

    (void)state;
    lines[0] = line(NULL, "pull");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct provider_config config = {.name = STR("p"),
                                         .order = cases[i].order,
                                         .key = {STR("body:/k"), "test", 4},
                                         .machine = {str_from(cases[i].machine), "test", 5},
                                         .routes = lines,
                                         .route_count = 2};

        lines[1] = line("a.*", cases[i].other);
        mistakes_free(mistakes);
        mistakes = mistakes_new();
        assert_int_equal(routes_compile(&config, arena, &routes, mistakes), !cases[i].want);
        assert_int_equal(mistakes_count(mistakes), cases[i].want ? 1 : 0);
        if (cases[i].want)
            assert_non_null(strstr(mistakes_get(mistakes, 0)->text, cases[i].want));
    }
    arena_free(arena);
}

static int free_mistakes(void **state)
{
    (void)state;
    mistakes_free(mistakes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_most_special_line_counts),
        cmocka_unit_test(test_a_line_makes_a_class),
        cmocka_unit_test(test_actions_keep_their_order),
        cmocka_unit_test(test_what_is_no_line_is_refused),
        cmocka_unit_test(test_a_plain_on_is_required),
        cmocka_unit_test(test_coalesce_needs_a_key_in_order),
        cmocka_unit_test(test_pull_keeps_the_order_alone),
    };

    return cmocka_run_group_tests(tests, NULL, free_mistakes);
}
