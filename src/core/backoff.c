/* Delays. The doubling stops at the cap before it can overflow, whatever the number of failures. */
#include "core/backoff.h"

static int64_t ceiling_ms(const struct backoff *backoff, int failures)
{
    int64_t ceiling = backoff->base_ms > 0 ? backoff->base_ms : 0;

    for (int i = 1; i < failures && ceiling > 0 && ceiling < backoff->cap_ms; i++)
        ceiling = ceiling > backoff->cap_ms / 2 ? backoff->cap_ms : ceiling * 2;
    return ceiling < backoff->cap_ms ? ceiling : backoff->cap_ms;
}

int64_t backoff_delay_ms(const struct backoff *backoff, int failures, uint64_t random)
{
    size_t step = failures > 1 ? (size_t)failures - 1 : 0;
    int64_t ceiling;

    if (backoff->kind == BACKOFF_LIST) {
        if (backoff->step_count == 0)
            return 0;
        return backoff->steps_ms[step < backoff->step_count ? step : backoff->step_count - 1];
    }
    ceiling = ceiling_ms(backoff, failures);
    return ceiling > 0 ? (int64_t)(random % ((uint64_t)ceiling + 1)) : 0;
}
