/* References, so that what is under way ends as it began. */
#include "quarantine/terms.h"

#include <stdlib.h>

#include "base/mem.h"

struct terms *terms_new(const struct config *config, const struct accepted_secrets *accepted)
{
    struct terms *terms = mem_alloc(sizeof(*terms));

    terms->config = config_ref(config);
    terms->captured = mem_alloc((config->provider_count + 1) * sizeof(struct secret *));
    for (size_t i = 0; i < config->provider_count; i++) {
        struct secret *secret = accepted_secret(accepted, config->providers[i].name);

        terms->captured[i] = secret ? secret_ref(secret) : NULL;
    }
    return terms;
}

void terms_free(struct terms *terms)
{
    if (!terms)
        return;
    for (size_t i = 0; i < terms->config->provider_count; i++)
        secret_unref(terms->captured[i]);
    free(terms->captured);
    config_unref(terms->config);
    free(terms);
}
