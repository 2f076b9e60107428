/* `rate` and `rate_per_address` of the providers of one configuration, counted in this daemon. Loop
 * thread only. */
#ifndef INGEST_RATES_H
#define INGEST_RATES_H

#include <stdint.h>

#include "base/str.h"
#include "config/config.h"

struct rates;

/* Borrows `config`. */
struct rates *rates_new(const struct config *config);
void rates_free(struct rates *rates); /* takes NULL */

/* Counts a request for a provider (its index). 0: it may come; else it was not counted, and the
 * value is after how many seconds, rounded up, it may. `source_ip`: as text; ptr NULL: not known.
 *
 * Memory is bounded: where more addresses come than are remembered, the ones that came least are
 * forgotten, which lets them come again. */
int64_t rates_take(struct rates *rates, size_t provider, struct str source_ip, int64_t now_us);

#endif
