/* Routes, sorted once so that the first that fits is the right one: exact types, then patterns by
 * falling length, then the plain one. */
#include "route/route.h"

#include <stdlib.h>

#define COALESCE "coalesce"

/* What is wrong with the actions of a line as a whole; NULL: nothing. */
static const char *wrong_together(const struct route *route, const struct provider_config *config)
{
    if (route->count == 0)
        return "coalesce is not an action; write what runs behind it, such as coalesce, "
               "sql:SCHEMA.FUNCTION";
    for (size_t i = 0; i < route->count; i++) {
        const struct route_action *action = &route->actions[i];

        if (route_kind_row(action->kind)->alone && (route->count > 1 || route->coalesce))
            return action->kind == ROUTE_PULL
                       ? "pull stands alone, since the application does all there is to do; take "
                         "the rest away"
                       : "ignore stands alone, since nothing is done; take the rest away";
        for (size_t j = 0; j < i; j++)
            if (action->kind == route->actions[j].kind &&
                str_equal(action->name, route->actions[j].name))
                return "an action stands there twice; write it once";
    }
    if (route->coalesce && !config->key.text.ptr)
        return "coalesce keeps the newest event of a key; write key = SOURCE";
    if (route->coalesce && config->order == ORDER_NONE)
        return "coalesce never runs two events of a key at once; write order = serial or strict";
    return NULL;
}

static int read_actions(struct str text, struct route *route, struct err *err)
{
    size_t parts = str_count_parts(text, ',');

    for (size_t i = 0; i < parts; i++) {
        struct str part = str_take_part(&text, ',');
        struct route_action *action = &route->actions[route->count];

        if (str_is(part, COALESCE)) {
            if (i > 0)
                return err_set(err, ERR_INPUT, "coalesce is for the whole line; write it first");
            route->coalesce = true;
            continue;
        }
        if (route_kind_parse(part, &action->kind, &action->name, err) < 0)
            return -1;
        if (route_kind_row(action->kind)->class != WORK_SQL)
            route->class = route_kind_row(action->kind)->class;
        route->count++;
    }
    return 0;
}

static bool compile_route(const struct provider_config *config, const struct route_config *line,
                          struct arena *arena, struct route *route, struct mistakes *mistakes)
{
    const struct setting *actions = &line->actions;
    struct str pattern = line->pattern.text;
    const char *wrong = NULL;
    struct err err = {0};

    *route = (struct route){.config = line,
                            .pattern = pattern,
                            .actions = arena_alloc(arena, str_count_parts(actions->text, ',') *
                                                              sizeof(struct route_action)),
                            .class = WORK_SQL};
    if (read_actions(actions->text, route, &err) < 0)
        wrong = err.text;
    else
        wrong = wrong_together(route, config);
    if (wrong)
        mistakes_add(mistakes, actions->file, actions->line, "provider \"%.*s\": on%s%.*s: %s",
                     STR_ARG(config->name), pattern.ptr ? " " : "", STR_ARG(pattern), wrong);
    return !wrong;
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

/* What an application pulls in order, only the application can put in order; and no check of ours
 * runs before it. */
static bool check_pull(const struct provider_config *config, const struct routes *routes,
                       struct mistakes *mistakes)
{
    bool well = true;

    if (!routes_have(routes, WORK_PULL))
        return true;
    for (size_t i = 0; i < routes->count; i++) {
        const struct route *route = &routes->routes[i];

        if (config->order == ORDER_NONE || route->class == WORK_PULL || route_ignores(route))
            continue;
        mistakes_add(
            mistakes, route->config->actions.file, route->config->actions.line,
            "provider \"%.*s\": events of a key that are pulled cannot keep the order with "
            "others; write order = none, or pull or ignore on every line",
            STR_ARG(config->name));
        well = false;
    }
    if (config->machine.text.ptr) {
        mistakes_add(
            mistakes, config->machine.file, config->machine.line,
            "machine: nothing of ours runs before an event is pulled; take the line away and "
            "let the application call inboxd.advance()");
        well = false;
    }
    return well;
}

bool routes_compile(const struct provider_config *config, struct arena *arena,
                    struct routes *routes, struct mistakes *mistakes)
{
    struct route *list = arena_alloc(arena, (config->route_count + 1) * sizeof(*list));
    bool well = true;

    for (size_t i = 0; i < config->route_count; i++)
        well = compile_route(config, &config->routes[i], arena, &list[i], mistakes) && well;
    qsort(list, config->route_count, sizeof(*list), compare);
    if (config->route_count == 0 || list[config->route_count - 1].pattern.ptr) {
        mistakes_add(mistakes, config->file, config->line,
                     "provider \"%.*s\": there is no plain on; write what to do with all other "
                     "events, such as on = ignore",
                     STR_ARG(config->name));
        well = false;
    }
    *routes = (struct routes){list, config->route_count};
    return check_pull(config, routes, mistakes) && well;
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

bool route_ignores(const struct route *route)
{
    return route->count == 1 && route->actions[0].kind == ROUTE_IGNORE;
}

bool routes_have(const struct routes *routes, enum work_class class)
{
    for (size_t i = 0; i < routes->count; i++)
        if (routes->routes[i].class == class)
            return true;
    return false;
}

bool routes_pull_lanes(const struct routes *routes, const struct provider_config *config)
{
    return config->order != ORDER_NONE && routes_have(routes, WORK_PULL);
}
