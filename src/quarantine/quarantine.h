/* What was refused is kept (docs/quarantine.md): a bounded queue, and a thread with a connection of
 * its own that writes it. Best effort: what does not fit is dropped and counted, and nobody waits.
 */
#ifndef QUARANTINE_QUARANTINE_H
#define QUARANTINE_QUARANTINE_H

#include "config/config.h"
#include "core/event.h"
#include "core/request.h"
#include "inbox/vault.h"

struct quarantine;

/* Starts the thread. Takes a reference to the configuration. */
struct quarantine *quarantine_new(const struct config *config);

/* Another configuration from now on, and the secrets that handshakes have brought (may be NULL);
 * takes references. The database stays. */
void quarantine_configure(struct quarantine *quarantine, const struct config *config,
                          const struct accepted_secrets *accepted);

/* Any thread, never waits for the database: a copy of a refused request, if its provider keeps
 * such. `reason` is what its sender was told. */
void quarantine_put(struct quarantine *quarantine, const struct provider_config *provider,
                    const struct request *request, const char *reason);

/* Any thread, the same: a duplicate that has other bytes than the first delivery, which is the
 * event `first`. */
void quarantine_put_different(struct quarantine *quarantine, const struct event *event,
                              int64_t first);

/* Interrupts what runs, writes what waits if that takes no longer than a second. Takes NULL. */
void quarantine_free(struct quarantine *quarantine);

#endif
