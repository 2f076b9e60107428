/* Who sent a request, and whether its provider lets them: `trusted_proxies` and `allow` applied.
 * Pure, any thread. */
#ifndef INGEST_SENDER_H
#define INGEST_SENDER_H

#include "base/mem.h"
#include "config/config.h"
#include "core/request.h"

/* Puts the sender's address into request->source_ip, where the peer's stood (ptr NULL: a Unix
 * socket); ptr NULL where it is not known. False: `provider` does not allow them. */
bool sender_find(const struct config *config, const struct provider_config *provider,
                 struct request *request, struct arena *arena);

#endif
