/* Plans. The arena holds what was compiled; texts are the configuration's. */
#include "work/plan.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"

struct counted_plan {
    struct plan plan; /* first: what everybody else points to */
    atomic_uint references;
    struct arena *arena;
};

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
        struct err err;

        compiled->config = provider;
        if (routes_compile(provider, counted->arena, &compiled->routes, &err) == 0)
            plan->count++;
        else
            log_event(LOG_ERROR, "cannot work for provider, its events wait",
                      F_STR("provider", provider->name), F_TEXT("why", err.text));
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
    config_unref(plan->config);
    arena_free(counted->arena);
    free(counted);
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

        for (size_t r = 0; r < provider->routes.count; r++)
            for (size_t a = 0; a < provider->routes.routes[r].count; a++)
                if (check_action(provider, &provider->routes.routes[r].actions[a], db, args, err) <
                    0)
                    return -1;
    }
    return 0;
}
