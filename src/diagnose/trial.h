/* One variation of a provider's section, judged: the same code as the daemon's, made anew with
 * other settings, other secrets or another request. One thread. */
#ifndef DIAGNOSE_TRIAL_H
#define DIAGNOSE_TRIAL_H

#include <stdbool.h>

#include "base/mem.h"
#include "config/config.h"
#include "core/refusal.h"
#include "core/request.h"

struct trial {
    const struct provider_config *config;
    const struct request *request;
    struct arena *arena; /* for texts of variations */
    size_t tried;
};

/* What a daemon with this section would say of the signature. A section that cannot be (a secret
 * that does not decode so) is REFUSAL_BAD_SIGNATURE. */
enum refusal trial_judge(struct trial *trial, const struct provider_config *config,
                         const struct request *request);

/* Whether the signature fits, fresh or stale. */
bool trial_fits(struct trial *trial, const struct provider_config *config,
                const struct request *request);

/* A copy of the section's with one setting's text changed: the member at that offset. */
struct provider_config trial_with(const struct trial *trial, size_t member, struct str text);
#define TRIAL_WITH(trial, member, text)                                                            \
    trial_with((trial), offsetof(struct provider_config, member), (text))

/* A copy with the one secret `bytes`; its secret belongs to the caller. */
struct provider_config trial_with_secret(const struct trial *trial, struct str bytes,
                                         struct secret **secret);

#endif
