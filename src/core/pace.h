/* A rate limit as one number: the generic cell rate algorithm (ITU-T I.371, annex A), a token
 * bucket that needs no timer. `count` may come at once, and then one in each period / count. Pure
 * functions, one thread at a time. */
#ifndef CORE_PACE_H
#define CORE_PACE_H

#include <stdint.h>

struct pace {
    int64_t due_us; /* when the bucket is full again; 0: it is */
};

/* Takes one at `now_us`, of a monotonic clock. 0: it may come. Else nothing was taken, and the
 * value is after how many microseconds one may come. `count` at least 1. */
int64_t pace_take(struct pace *pace, int64_t count, int64_t period_us, int64_t now_us);

#endif
