/* Routes that cannot be understood are the mistakes of somebody else (provider_new). */
#include "work/module_check.h"

#include "route/route.h"
#include "work/module.h"

static void check_route(const struct config *config, const struct provider_config *provider,
                        const struct route *route, struct mistakes *mistakes)
{
    const struct setting *line = &route->config->actions;
    struct err err;

    for (size_t i = 0; i < route->count; i++)
        if (route->actions[i].kind == ROUTE_MODULE &&
            module_check(config->module_path.ptr, route->actions[i].name, &err) < 0)
            mistakes_add(mistakes, line->file, line->line, "provider \"%.*s\": on%s%.*s: %s",
                         STR_ARG(provider->name), route->pattern.ptr ? " " : "",
                         STR_ARG(route->pattern), err.text);
}

void modules_check(const struct config *config, struct mistakes *mistakes)
{
    struct mistakes *known = mistakes_new();
    struct arena *arena = arena_new(4096);

    for (size_t i = 0; i < config->provider_count; i++) {
        struct routes routes;

        if (!routes_compile(&config->providers[i], arena, &routes, known))
            continue;
        for (size_t r = 0; r < routes.count; r++)
            check_route(config, &config->providers[i], &routes.routes[r], mistakes);
    }
    arena_free(arena);
    mistakes_free(known);
}
