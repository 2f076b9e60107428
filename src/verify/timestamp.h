/* Times as senders write them, read strictly: a sign, a blank or a letter too many is not a time.
 */
#ifndef VERIFY_TIMESTAMP_H
#define VERIFY_TIMESTAMP_H

#include <stdint.h>

#include "base/str.h"

enum time_unit { TIME_S, TIME_MS, TIME_ISO8601 };

/* Out of range: a number, but of no time that we count. */
enum time_read { TIME_READ, TIME_OUT_OF_RANGE, TIME_UNREADABLE };
/* Digits only, or RFC 3339; *us is since 1970. */
enum time_read time_read(enum time_unit unit, struct str text, int64_t *us);

#endif
