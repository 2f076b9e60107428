/* Sections are plain structs of texts: a variation is a shallow copy. */
#include "diagnose/trial.h"

#include "provider/provider.h"

enum refusal trial_judge(struct trial *trial, const struct provider_config *config,
                         const struct request *request)
{
    struct mistakes *mistakes = mistakes_new();
    struct provider *provider = provider_new(config, mistakes);
    enum refusal refusal = REFUSAL_BAD_SIGNATURE;
    bool verified = false;

    trial->tried++;
    if (provider)
        refusal = provider_verify(provider, request, &verified);
    provider_free(provider);
    mistakes_free(mistakes);
    return refusal == REFUSAL_NONE && !verified ? REFUSAL_BAD_SIGNATURE : refusal;
}

bool trial_fits(struct trial *trial, const struct provider_config *config,
                const struct request *request)
{
    enum refusal refusal = trial_judge(trial, config, request);

    return refusal == REFUSAL_NONE || refusal == REFUSAL_STALE_TIMESTAMP;
}

struct provider_config trial_with(const struct trial *trial, size_t member, struct str text)
{
    struct provider_config config = *trial->config;
    struct setting *setting = (struct setting *)(void *)((char *)&config + member);

    setting->text = text;
    return config;
}

struct provider_config trial_with_secret(const struct trial *trial, struct str bytes,
                                         struct secret **secret)
{
    struct provider_config config = *trial->config;
    struct secret **secrets = arena_alloc(trial->arena, sizeof(*secrets));

    *secret = secret_new(bytes);
    secrets[0] = *secret;
    config.secrets = secrets;
    config.secret_count = 1;
    return config;
}
