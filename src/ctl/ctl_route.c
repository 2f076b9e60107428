/* inboxctl route: what would run for an event of a provider and type, by the configuration alone.
 */
#include <stdio.h>

#include "base/mem.h"
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "route/route.h"

static const char *class_text(enum work_class class)
{
    switch (class) {
    case WORK_SQL:
        return "sql: in the worker's transaction, exactly once";
    case WORK_LEASED:
        return "leased: under a lease, its end fenced";
    case WORK_PULL:
        return "pull: waits for an application that claims it";
    }
    return "";
}

static const char *order_text(enum order order)
{
    switch (order) {
    case ORDER_NONE:
        return "none";
    case ORDER_SERIAL:
        return "serial: one at a time per key; a failing one steps aside";
    case ORDER_STRICT:
        return "strict: one at a time per key, which waits for a failing one";
    }
    return "";
}

static void print_actions(const struct provider_config *provider, const struct route *route,
                          FILE *out)
{
    int number = 1;

    if (provider->machine.text.ptr)
        fprintf(out, "first:  machine %.*s judges whether it is early or stale\n",
                STR_ARG(provider->machine.text));
    for (size_t i = 0; i < route->count; i++) {
        const struct route_action *action = &route->actions[i];

        fprintf(out, "%-6s  %d. %s%s%.*s\n", i == 0 ? "runs:" : "", number++,
                route_kind_row(action->kind)->name, action->name.len > 0 ? ":" : "",
                STR_ARG(action->name));
    }
}

static void print_route(const struct provider_config *provider, const struct route *route,
                        FILE *out)
{
    fprintf(out, "line:   on%s%.*s = %.*s   (%s:%d)\n", route->pattern.ptr ? " " : "",
            (int)route->pattern.len, route->pattern.ptr ? route->pattern.ptr : "",
            STR_ARG(route->config->actions.text), route->config->actions.file,
            route->config->actions.line);
    print_actions(provider, route, out);
    if (route->coalesce)
        fputs("only:   the newest of the waiting ones of its key and type\n", out);
    fprintf(out, "class:  %s\n", class_text(route->class));
    fprintf(out, "order:  %s%s%.*s\n", order_text(provider->order),
            provider->key.text.ptr ? "; key = " : "", (int)provider->key.text.len,
            provider->key.text.ptr ? provider->key.text.ptr : "");
}

/* An exit code. */
static int explain(const struct provider_config *provider, const char *type, FILE *out)
{
    struct mistakes *mistakes = mistakes_new();
    struct arena *arena = arena_new(4096);
    struct routes routes;
    int code = EXIT_DONE;

    if (routes_compile(provider, arena, &routes, mistakes)) {
        print_route(provider, routes_find(&routes, type ? str_from(type) : (struct str){NULL, 0}),
                    out);
    } else {
        session_print_mistakes(mistakes, false);
        code = EXIT_BAD_CONFIG;
    }
    arena_free(arena);
    mistakes_free(mistakes);
    return code;
}

static void name_providers(const struct config *config)
{
    fputs("the configuration has:", stderr);
    for (size_t i = 0; i < config->provider_count; i++)
        fprintf(stderr, " %.*s", STR_ARG(config->providers[i].name));
    fputc('\n', stderr);
}

int ctl_route(const struct context *context, int argc, char **argv)
{
    const struct option_spec specs[] = {{0}};
    const struct provider_config *provider;
    struct config *config;
    int words, code = EXIT_FAILED;

    if (options_parse("route", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1 && words != 2)
        return command_usage("route", "wants the name of a provider, and an event type or none");
    config = session_config_without_secrets(context);
    if (!config)
        return EXIT_BAD_CONFIG;
    provider = config_provider(config, str_from(argv[1]));
    if (provider) {
        code = explain(provider, words == 2 ? argv[2] : NULL, context->out);
    } else {
        fprintf(stderr, "inboxctl: route: there is no provider \"%s\"; ", argv[1]);
        name_providers(config);
    }
    config_unref(config);
    return code;
}
