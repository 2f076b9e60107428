/* Routes, sorted once so that the first that fits is the right one: exact types, then patterns by
 * falling length, then the plain one. */
#include "work/route.h"

#include <stdlib.h>

static const struct handler_kind *const kinds[] = {&handler_sql, &handler_ignore};

static int compile_action(struct str text, struct arena *arena, struct action *action,
                          struct err *err)
{
    const char *colon = memchr(text.ptr, ':', text.len);
    struct str kind = {text.ptr, colon ? (size_t)(colon - text.ptr) : text.len};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!str_is(kind, kinds[i]->name) || kinds[i]->named != (colon != NULL))
            continue;
        *action = (struct action){.kind = kinds[i], .name = STR("")};
        if (colon)
            action->name = (struct str){colon + 1, text.len - kind.len - 1};
        return kinds[i]->compile ? kinds[i]->compile(action, arena, err) : 0;
    }
    return err_set(err, ERR_INPUT, "\"%.*s\" is not an action; write sql:SCHEMA.FUNCTION or ignore",
                   STR_ARG(text));
}

static size_t count_parts(struct str text)
{
    size_t parts = 1;

    for (size_t i = 0; i < text.len; i++)
        parts += text.ptr[i] == ',';
    return parts;
}

static int compile_route(const struct route_config *config, struct arena *arena,
                         struct route *route, struct err *err)
{
    struct str rest = config->actions.text;
    size_t parts = count_parts(rest);

    *route = (struct route){.pattern = config->pattern.text,
                            .actions = arena_alloc(arena, parts * sizeof(struct action)),
                            .class = WORK_SQL};
    for (size_t i = 0; i < parts; i++) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        struct str part = {rest.ptr, comma ? (size_t)(comma - rest.ptr) : rest.len};
        struct action *action = &route->actions[route->count++];

        if (compile_action(str_trim(part), arena, action, err) < 0)
            return -1;
        if (action->kind->class == WORK_LEASED)
            route->class = WORK_LEASED; /* one leased action makes the whole event leased */
        rest = (struct str){part.ptr + part.len + 1, comma ? rest.len - part.len - 1 : 0};
    }
    return 0;
}

static bool is_wildcard(struct str pattern)
{
    return pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*';
}

/* The lower the more special. */
static int rank(const struct route *route)
{
    if (!route->pattern.ptr)
        return 2;
    return is_wildcard(route->pattern) ? 1 : 0;
}

static int compare(const void *left, const void *right)
{
    const struct route *a = left, *b = right;

    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    return (a->pattern.len < b->pattern.len) - (a->pattern.len > b->pattern.len);
}

int routes_compile(const struct provider_config *config, struct arena *arena, struct routes *routes,
                   struct err *err)
{
    struct route *list = arena_alloc(arena, (config->route_count + 1) * sizeof(*list));

    for (size_t i = 0; i < config->route_count; i++)
        if (compile_route(&config->routes[i], arena, &list[i], err) < 0)
            return -1;
    qsort(list, config->route_count, sizeof(*list), compare);
    if (config->route_count == 0 || list[config->route_count - 1].pattern.ptr)
        return err_set(err, ERR_INPUT, "there is no plain \"on\"");
    *routes = (struct routes){list, config->route_count};
    return 0;
}

static bool fits(struct str pattern, struct str event_type)
{
    if (!pattern.ptr)
        return true;
    if (!event_type.ptr)
        return false;
    if (is_wildcard(pattern))
        return str_starts(event_type, (struct str){pattern.ptr, pattern.len - 1});
    return str_equal(pattern, event_type);
}

const struct route *routes_find(const struct routes *routes, struct str event_type)
{
    size_t i = 0;

    while (!fits(routes->routes[i].pattern, event_type))
        i++;
    return &routes->routes[i];
}
