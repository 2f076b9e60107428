/* Any bytes as a configuration file: no crash, no leak, and either a snapshot or a reason. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mistakes *mistakes = mistakes_new();
    struct str text = {size ? (const char *)data : "", size};
    struct config *config = config_parse("fuzz.conf", text, mistakes);

    if (!config != (mistakes_errors(mistakes) > 0))
        abort();
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->text[0])
            abort();
    if (config) {
        for (size_t i = 0; i < config->provider_count; i++)
            if (config_provider(config, config->providers[i].name) != &config->providers[i])
                abort();
        config_unref(config_ref(config));
        config_unref(config);
    }
    mistakes_free(mistakes);
    return 0;
}
