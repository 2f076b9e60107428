/* How long a failed event waits before it is tried again. Pure, any thread. */
#ifndef CORE_BACKOFF_H
#define CORE_BACKOFF_H

#include <stddef.h>
#include <stdint.h>

enum backoff_kind { BACKOFF_EXPONENTIAL, BACKOFF_LIST };

#define BACKOFF_STEPS_MAX 32

struct backoff {
    enum backoff_kind kind;
    int64_t base_ms,
        cap_ms; /* exponential: full jitter, drawn from 0 to min(cap, base * 2^(failures - 1)) */
    int64_t steps_ms[BACKOFF_STEPS_MAX]; /* list: one after the other, the last repeats */
    size_t step_count;
};

/* Milliseconds to wait after the failure number `failures` (the first is 1; any number is fine).
 * `random`: 64 evenly distributed bits, so that events that failed together do not come back
 * together. */
int64_t backoff_delay_ms(const struct backoff *backoff, int failures, uint64_t random);

#endif
