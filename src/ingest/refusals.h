/* Log lines about refused requests, folded: per provider and reason the first one at once, then at
 * most one line in ten seconds with the number since. Loop thread only. */
#ifndef INGEST_REFUSALS_H
#define INGEST_REFUSALS_H

#include <stddef.h>

#include "config/config.h"
#include "core/refusal.h"
#include "inbox/refusal_counts.h"

struct refusals;

struct refusals *refusals_new(const struct config *config); /* borrows it */
void refusals_free(struct refusals *refusals);              /* logs what was not yet; takes NULL */

/* `provider`: its index in the configuration, -1 where none was found. `size`: of a body too large;
 * may be NULL. `source_ip` may be NULL. */
void refusals_note(struct refusals *refusals, ptrdiff_t provider, enum refusal refusal,
                   const struct refusal_size *size, struct str source_ip);
/* Logs what was noted and not yet said, where ten seconds have passed. */
void refusals_sweep(struct refusals *refusals);

#endif
