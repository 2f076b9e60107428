/* Whether an identity stays the same when its sender tries again. */
#ifndef PROVIDER_IDENTITY_H
#define PROVIDER_IDENTITY_H

#include "config/config.h"
#include "provider/source.h"

/* Warns where `event_id`, written in the section itself, reads a header that is another one at each
 * attempt: request ids, traces, times, and the signature where a time is signed with it. Presets
 * are believed. */
void identity_check(const struct provider_config *config, const struct source *event_id,
                    struct mistakes *mistakes);

#endif
