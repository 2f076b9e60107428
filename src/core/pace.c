#include "core/pace.h"

int64_t pace_take(struct pace *pace, int64_t count, int64_t period_us, int64_t now_us)
{
    int64_t each_us = period_us / count;
    int64_t due_us = pace->due_us > now_us ? pace->due_us : now_us;
    int64_t excess_us = due_us + each_us - (now_us + period_us);

    if (excess_us > 0)
        return excess_us;
    pace->due_us = due_us + each_us;
    return 0;
}
