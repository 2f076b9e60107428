/* Plans. The arena holds what was compiled; texts are the configuration's. */
#include "work/plan.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"

#define CHANGE_AT_ONCE 1000

struct counted_plan {
    struct plan plan; /* first: what everybody else points to */
    atomic_uint references;
    struct arena *arena;
};

static const struct handler_kind *const handlers[ROUTE_KINDS] = {
    [ROUTE_SQL] = &handler_sql,
    [ROUTE_IGNORE] = &handler_ignore,
    [ROUTE_EXEC] = &handler_exec,
    [ROUTE_MODULE] = &handler_module,
};

static int compile_action(const struct provider_config *provider, const struct route_action *text,
                          struct arena *arena, struct action *action, struct err *err)
{
    const struct handler_kind *kind = handlers[text->kind];

    if (!kind)
        return err_set(err, ERR_INPUT, "this version does not run %s",
                       route_kind_row(text->kind)->written);
    *action = (struct action){.kind = kind, .name = text->name};
    return kind->compile ? kind->compile(provider, action, arena, err) : 0;
}

static int compile_route(const struct provider_config *provider, const struct route *route,
                         struct arena *arena, struct plan_route *compiled, struct err *err)
{
    *compiled = (struct plan_route){
        .route = route, .actions = arena_alloc(arena, (route->count + 1) * sizeof(struct action))};
    if (route->class == WORK_PULL) /* nothing of it runs here */
        return 0;
    if (provider->machine.text.ptr)
        compiled->actions[compiled->count++] =
            (struct action){.kind = &handler_machine, .name = provider->machine.text};
    for (size_t i = 0; i < route->count; i++, compiled->count++)
        if (compile_action(provider, &route->actions[i], arena, &compiled->actions[compiled->count],
                           err) < 0)
            return -1;
    return 0;
}

static bool is_in_process(const struct plan_provider *provider)
{
    for (size_t r = 0; r < provider->routes.count; r++)
        for (size_t a = 0; a < provider->compiled[r].count; a++)
            if (provider->compiled[r].actions[a].kind->in_process)
                return true;
    return false;
}

static int compile_provider(const struct provider_config *config, struct arena *arena,
                            struct plan_provider *provider, struct err *err)
{
    struct mistakes *mistakes = mistakes_new();
    int rc = 0;

    provider->config = config;
    if (!routes_compile(config, arena, &provider->routes, mistakes))
        rc = err_set(err, ERR_INPUT, "%s", mistakes_get(mistakes, 0)->text);
    mistakes_free(mistakes);
    provider->lanes_are_pulled = routes_pull_lanes(&provider->routes, config);
    provider->compiled =
        arena_alloc(arena, (provider->routes.count + 1) * sizeof(*provider->compiled));
    for (size_t i = 0; rc == 0 && i < provider->routes.count; i++)
        rc = compile_route(config, &provider->routes.routes[i], arena, &provider->compiled[i], err);
    provider->in_process = rc == 0 && is_in_process(provider);
    return rc;
}

static void release_provider(const struct plan_provider *provider)
{
    for (size_t r = 0; r < provider->routes.count; r++)
        for (size_t a = 0; a < provider->compiled[r].count; a++) {
            struct action *action = &provider->compiled[r].actions[a];

            if (action->kind->release)
                action->kind->release(action);
        }
}

const struct plan_route *plan_find(const struct plan_provider *provider, struct str event_type)
{
    const struct route *route = routes_find(&provider->routes, event_type);

    return &provider->compiled[route - provider->routes.routes];
}

struct plan *plan_new(const struct config *config)
{
    struct counted_plan *counted = mem_alloc(sizeof(*counted));
    struct plan *plan = &counted->plan;

    atomic_init(&counted->references, 1);
    counted->arena = arena_new(4096);
    plan->config = config_ref(config);
    plan->providers =
        arena_alloc(counted->arena, (config->provider_count + 1) * sizeof(*plan->providers));
    for (size_t i = 0; i < config->provider_count; i++) {
        const struct provider_config *provider = &config->providers[i];
        struct plan_provider *compiled = &plan->providers[plan->count];
        struct err err = {0};

        if (compile_provider(provider, counted->arena, compiled, &err) == 0) {
            plan->count++;
        } else {
            release_provider(compiled);
            log_event(LOG_ERROR, "cannot work for provider, its events wait",
                      F_STR("provider", provider->name), F_TEXT("why", err.text));
        }
    }
    return plan;
}

struct plan *plan_ref(struct plan *plan)
{
    atomic_fetch_add_explicit(&((struct counted_plan *)plan)->references, 1, memory_order_relaxed);
    return plan;
}

void plan_unref(struct plan *plan)
{
    struct counted_plan *counted = (struct counted_plan *)plan;

    if (!plan || atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < plan->count; i++)
        release_provider(&plan->providers[i]);
    config_unref(plan->config);
    arena_free(counted->arena);
    free(counted);
}

static bool leaves_nothing_to_pull(const struct plan_provider *provider)
{
    return !routes_have(&provider->routes, WORK_PULL);
}

static bool goes_on(const struct plan_provider *provider)
{
    return provider->config->order != ORDER_STRICT;
}

/* Runs a statement that changes rows of such providers until there are none left. */
static int change_all(const struct plan *plan, bool (*wanted)(const struct plan_provider *provider),
                      const char *query, struct db *db, struct db_args *args, struct err *err)
{
    struct db_result *rows;
    bool more = true;

    while (more) {
        db_args_clear(args);
        db_args_array_begin(args, DB_TEXT);
        for (size_t i = 0; i < plan->count; i++)
            if (wanted(&plan->providers[i]))
                db_args_element(args, plan->providers[i].config->name);
        db_args_array_end(args);
        db_args_int4(args, CHANGE_AT_ONCE);
        if (db_run(db, db_query(query), args, &rows, err) < 0)
            return -1;
        more = db_int(rows, 0, 0) == CHANGE_AT_ONCE;
        db_result_free(rows);
    }
    return 0;
}

int plan_take_over(const struct plan *plan, struct db *db, struct db_args *args, struct err *err)
{
    if (change_all(plan, leaves_nothing_to_pull, "pull_reclass", db, args, err) < 0)
        return -1;
    return change_all(plan, goes_on, "lane_unblock", db, args, err);
}

/* A name that is written wrongly is a machine without transitions, which checks nothing. */
static int check_machine(const struct plan_provider *provider, struct db *db, struct db_args *args,
                         struct err *err)
{
    static const char sql[] =
        "select exists (select from inboxd.transition t where t.machine = $1)";
    struct str machine = provider->config->machine.text;
    struct db_result *rows;

    if (!machine.ptr)
        return 0;
    db_args_clear(args);
    db_args_text(args, machine);
    if (db_run_text(db, sql, args, &rows, err) < 0)
        return -1;
    if (!db_bool(rows, 0, 0))
        log_event(LOG_WARN, "machine has no transitions, events go to their handlers unchecked",
                  F_STR("provider", provider->config->name), F_STR("machine", machine));
    db_result_free(rows);
    return 0;
}

static int check_action(const struct plan_provider *provider, const struct action *action,
                        struct db *db, struct db_args *args, struct err *err)
{
    struct str schema, function;
    struct db_result *rows;
    bool found, allowed;

    if (action->kind != &handler_sql)
        return 0;
    handler_sql_names(action, &schema, &function);
    db_args_clear(args);
    db_args_text(args, schema);
    db_args_text(args, function);
    if (db_run(db, db_query("handler_state"), args, &rows, err) < 0)
        return -1;
    found = db_bool(rows, 0, 0);
    allowed = db_bool(rows, 0, 1);
    db_result_free(rows);
    if (!found)
        log_event(LOG_WARN, "handler does not exist yet, its events will be retried",
                  F_STR("provider", provider->config->name), F_STR("function", action->name));
    else if (!allowed)
        log_event(LOG_WARN, "handler may not be called by this role, its events will be retried",
                  F_STR("provider", provider->config->name), F_STR("function", action->name));
    return 0;
}

int plan_check_handlers(const struct plan *plan, struct db *db, struct db_args *args,
                        struct err *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_provider *provider = &plan->providers[i];

        if (check_machine(provider, db, args, err) < 0)
            return -1;
        for (size_t r = 0; r < provider->routes.count; r++)
            for (size_t a = 0; a < provider->compiled[r].count; a++)
                if (check_action(provider, &provider->compiled[r].actions[a], db, args, err) < 0)
                    return -1;
    }
    return 0;
}
