/* What releases go by: a configuration, and the secrets that handshakes have brought. Made by one
 * thread, handed over whole. */
#ifndef QUARANTINE_TERMS_H
#define QUARANTINE_TERMS_H

#include "config/config.h"
#include "inbox/vault.h"

struct terms {
    const struct config *config;
    struct secret **captured; /* one a provider of the configuration; NULL: none */
};

/* Takes references. `accepted` may be NULL. */
struct terms *terms_new(const struct config *config, const struct accepted_secrets *accepted);
void terms_free(struct terms *terms); /* takes NULL */

#endif
