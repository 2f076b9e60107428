/* One configuration as the front end uses it: the file's snapshot with its providers compiled. A
 * reload makes a new one; requests in flight keep the one that they began under. Loop thread only.
 */
#ifndef INGEST_SNAPSHOT_H
#define INGEST_SNAPSHOT_H

#include <stddef.h>

#include "config/config.h"
#include "http/answer.h"
#include "inbox/vault.h"
#include "ingest/rates.h"
#include "ingest/refusals.h"
#include "provider/provider.h"

/* A provider's own answers; NULL: the usual ones. */
struct replies {
    struct http_answer *stored, *duplicate;
};

struct snapshot {
    const struct config *config;
    struct provider **providers; /* in the order of config->providers */
    struct replies *replies;     /* likewise */
    struct refusals *refusals;   /* folded log lines about refused requests */
    struct rates *rates;
    bool secrets_known; /* which secrets of handshakes are accepted, none included */
    int references;
};

/* Compiles every provider. NULL and mistakes when one cannot work. Takes a reference to `config`.
 * `accepted`: the secrets of handshakes; NULL: not known yet. */
struct snapshot *snapshot_new(const struct config *config, const struct accepted_secrets *accepted,
                              struct mistakes *mistakes);
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* takes NULL */

/* Whether a provider's secret is one that a handshake hands over, and which one is not known yet.
 */
bool snapshot_lacks_secret(const struct snapshot *snapshot, size_t provider);

/* Index of a provider, or -1. */
ptrdiff_t snapshot_find(const struct snapshot *snapshot, struct str name);

#endif
