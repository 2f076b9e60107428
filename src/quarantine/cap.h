/* How many requests of one provider and source are taken in a minute. A table of fixed size: where
 * more sources come in a minute than it has room for, the others are let through. Not thread-safe.
 */
#ifndef QUARANTINE_CAP_H
#define QUARANTINE_CAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct cap;

struct cap *cap_new(void);
void cap_free(struct cap *cap); /* takes NULL */

/* Counts one more; false when it is above `per_minute`. `now_us`: a clock that does not go back. */
bool cap_take(struct cap *cap, struct str provider, uint64_t source, int per_minute,
              int64_t now_us);

#endif
