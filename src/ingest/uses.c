/* Names of secrets: a literal's reference is the same for all literals, so that they are numbered.
 */
#include "ingest/uses.h"

#include <stdlib.h>

#include "base/mem.h"

/* How many secrets there are to count for. */
static size_t secrets_of(const struct provider_config *provider)
{
    if (provider->secret_count == 0 && provider->captures_secret)
        return 1;
    return provider->secret_count;
}

static struct secret_name name_of(const struct provider_config *provider, size_t secret)
{
    struct secret_name name = {.provider = provider->name,
                               .reference = STR("handshake"),
                               .ordinal = 1,
                               .number = (int)secret + 1};

    if (provider->secret_count == 0)
        return name;
    name.reference = provider->secret_settings[secret].text;
    for (size_t i = 0; i < secret; i++)
        name.ordinal += str_equal(provider->secret_settings[i].text, name.reference);
    return name;
}

void uses_configure(struct secret_uses *uses, const struct config *config)
{
    struct secret_name *names;
    size_t count = 0, n = 0;

    for (size_t i = 0; i < config->provider_count; i++)
        count += secrets_of(&config->providers[i]);
    names = mem_alloc((count + 1) * sizeof(*names));
    for (size_t i = 0; i < config->provider_count; i++)
        for (size_t j = 0; j < secrets_of(&config->providers[i]); j++)
            names[n++] = name_of(&config->providers[i], j);
    secret_uses_configure(uses, names, n);
    free(names);
}

void uses_collect(struct secret_uses *uses, struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->config->provider_count; i++) {
        const struct provider_config *config = &snapshot->config->providers[i];

        for (size_t j = 0; j < secrets_of(config); j++) {
            int64_t count = provider_take_uses(snapshot->providers[i], j);
            struct secret_name name;

            if (count == 0)
                continue;
            name = name_of(config, j);
            secret_uses_add(uses, &name, count);
        }
    }
}
