/* Read anew at each start and reload; nothing is kept. */
#include "work/policy.h"

#include "base/mem.h"
#include "route/route.h"

static struct str order_text(enum order order)
{
    static const char *const texts[] = {
        [ORDER_NONE] = "none", [ORDER_SERIAL] = "serial", [ORDER_STRICT] = "strict"};

    return str_from(texts[order]);
}

/* `pull` where events with an order are pulled, else that of the plain `on`. Where the routes
 * cannot be used the events wait, whatever this says. */
static enum work_class class_of(const struct provider_config *provider)
{
    struct arena *arena = arena_new(1024);
    struct mistakes *mistakes = mistakes_new();
    enum work_class class = WORK_SQL;
    struct routes routes;

    if (routes_compile(provider, arena, &routes, mistakes))
        class = routes_pull_lanes(&routes, provider)
                    ? WORK_PULL
                    : routes_find(&routes, (struct str){NULL, 0})->class;
    mistakes_free(mistakes);
    arena_free(arena);
    return class;
}

void policy_read(const struct config *config, struct policy *list)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        const struct provider_config *provider = &config->providers[i];

        list[i] = (struct policy){.provider = provider->name,
                                  .class = class_of(provider),
                                  .order = order_text(provider->order),
                                  .attempts = provider->attempts,
                                  .backoff = provider->backoff,
                                  .defer_ms = provider->defer_ms,
                                  .defer_limit_ms = provider->defer_limit_ms,
                                  .timeout_ms = provider->timeout_ms};
    }
}
