/* Clocks. The override exists only in builds with fault points, so that known-answer signatures can
 * be played. */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
#ifdef INBOXD_FAULTS
    const char *fixed = getenv("INBOXD_CLOCK"); /* NOLINT(concurrency-mt-unsafe) */

    if (fixed && *fixed)
        return strtoll(fixed, NULL, 10) * 1000000;
#endif
    return read_clock(CLOCK_REALTIME);
}

void clock_format(int64_t wall_us, char text[static CLOCK_TEXT_SIZE])
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm tm;
    size_t len;

    (void)gmtime_r(&seconds, &tm);
    len = strftime(text, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + len, CLOCK_TEXT_SIZE - len, ".%06uZ", (unsigned)(wall_us % 1000000) % 1000000u);
}
