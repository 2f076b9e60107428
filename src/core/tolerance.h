/* How far a signed time may be from now, each way, in milliseconds. `past_ms` 0: no window is
 * looked at, and then `future_ms` is 0 too. */
#ifndef CORE_TOLERANCE_H
#define CORE_TOLERANCE_H

#include <stdint.h>

struct tolerance {
    int64_t past_ms, future_ms;
};

#endif
