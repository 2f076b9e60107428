/* The time at which an event happened, out of what a sender writes for one. */
#ifndef PROVIDER_EVENT_TIME_H
#define PROVIDER_EVENT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* A number counts from 1970: in seconds up to 11 digits, in milliseconds up to 14, in microseconds
 * beyond; a fraction is one of that unit. A text is RFC 3339, and UTC where it has no offset. False
 * for all else, and *us_since_2000 is untouched then. */
bool event_time_read(struct str text, int64_t *us_since_2000);

#endif
