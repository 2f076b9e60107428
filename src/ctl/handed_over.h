/* A section whose secret comes in a handshake: the one that a person has accepted, out of the
 * database, in place of one in the configuration. */
#ifndef CTL_HANDED_OVER_H
#define CTL_HANDED_OVER_H

#include "config/config.h"
#include "ctl/command.h"

struct handed_over {
    struct provider_config section; /* as configured, with that secret */
    struct secret *secret;
    struct setting reference;
};

/* Whether the section waits for such a secret. */
bool handed_over_is_needed(const struct provider_config *provider);

/* The section with its secret, which lives as long as `with` and `config`; NULL: there is none that
 * could be had. Why, was printed to standard error. */
const struct provider_config *handed_over_find(const struct context *context,
                                               const struct config *config,
                                               const struct provider_config *provider,
                                               struct handed_over *with);
void handed_over_release(struct handed_over *with); /* also of a zeroed one */

#endif
