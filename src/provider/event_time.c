/* Leniently, other than a signed time: an event without a usable time is stored without one. */
#include "provider/event_time.h"

#include <string.h>

#include "verify/timestamp.h"

#define US_1970_TO_2000 INT64_C(946684800000000)
#define TEXT_MAX 40

static size_t digits_at_start(struct str text)
{
    size_t n = 0;

    while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
        n++;
    return n;
}

/* ".5" of a unit of `unit_us` microseconds; -1: no fraction. */
static int64_t fraction_us(struct str text, int64_t unit_us)
{
    struct str digits = {text.ptr + 1, text.len - 1};
    int64_t us = 0, scale = unit_us;

    if (text.len < 2 || *text.ptr != '.' || digits_at_start(digits) != digits.len)
        return -1;
    for (size_t i = 0; i < digits.len && scale >= 10; i++) {
        scale /= 10;
        us += (digits.ptr[i] - '0') * scale;
    }
    return us;
}

static bool read_number(struct str text, int64_t *us)
{
    size_t whole = digits_at_start(text);
    int64_t unit_us = whole <= 11 ? 1000000 : whole <= 14 ? 1000 : 1, value = 0, fraction = 0;

    if (whole == 0 || whole > 17)
        return false;
    if (whole < text.len)
        fraction = fraction_us((struct str){text.ptr + whole, text.len - whole}, unit_us);
    for (size_t i = 0; i < whole; i++)
        value = value * 10 + (text.ptr[i] - '0');
    *us = value * unit_us + fraction;
    return fraction >= 0;
}

static bool read_text(struct str text, int64_t *us)
{
    char with_zone[TEXT_MAX + 1];

    if (time_read(TIME_ISO8601, text, us) == TIME_READ)
        return true;
    if (text.len >= TEXT_MAX)
        return false;
    memcpy(with_zone, text.ptr, text.len);
    with_zone[text.len] = 'Z';
    return time_read(TIME_ISO8601, (struct str){with_zone, text.len + 1}, us) == TIME_READ;
}

bool event_time_read(struct str text, int64_t *us_since_2000)
{
    int64_t us;

    if (text.len == 0 || !(read_number(text, &us) || read_text(text, &us)))
        return false;
    *us_since_2000 = us - US_1970_TO_2000;
    return true;
}
