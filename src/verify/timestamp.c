/* The `timestamp =` rule, and reading times strictly: a sign, a blank or a letter too many is not a
 * time. */
#include <stdlib.h>

#include "verify/signed.h"

#define DIGITS_MAX 16 /* more cannot be a time in s or ms, but is still a number */

int time_parse(struct signed_scheme *scheme, struct str text, struct err *err)
{
    static const char *const units[] = {
        [TIME_S] = "s", [TIME_MS] = "ms", [TIME_ISO8601] = "iso8601"};
    struct time_rule *rule = &scheme->time;
    struct str rest = text, word = scheme_word(&rest);

    rule->used = true;
    if (str_is(word, "item")) {
        rule->item = true;
        rule->prefix = arena_copy(scheme->arena, scheme_word(&rest));
        if (!rule->prefix.ptr)
            return err_set(err, ERR_INPUT,
                           "item wants the prefix of the timestamp, such as \"item t= s\"");
    } else if (place_parse(scheme, word, &rule->place, err) < 0) {
        return -1;
    }
    if (!rule->item && rule->place.kind == PLACE_HEADER_FAMILY)
        return err_set(err, ERR_INPUT,
                       "a timestamp comes from one header, not from a numbered family");
    word = scheme_word(&rest);
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (word.ptr && str_is(word, units[i]) && !scheme_word(&rest).ptr) {
            rule->unit = (enum time_unit)i;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "ends with the unit: s, ms or iso8601");
}

static enum time_read read_number(struct str text, int64_t unit_us, int64_t *us)
{
    int64_t value = 0;
    bool negative = text.len > 1 && text.ptr[0] == '-';

    if (text.len == 0)
        return TIME_UNREADABLE;
    for (size_t i = negative; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return TIME_UNREADABLE;
    if (negative || text.len > DIGITS_MAX)
        return TIME_OUT_OF_RANGE;
    for (size_t i = 0; i < text.len; i++)
        value = value * 10 + (text.ptr[i] - '0');
    if (value > INT64_MAX / unit_us)
        return TIME_OUT_OF_RANGE;
    *us = value * unit_us;
    return TIME_READ;
}

/* ---- RFC 3339 ---- */

/* `n` digits at text[*at], between low and high; moves *at behind them. -1 otherwise. */
static int digits(struct str text, size_t *at, size_t n, int low, int high)
{
    int value = 0;

    if (text.len - *at < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        char c = text.ptr[*at + i];

        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    *at += n;
    return value < low || value > high ? -1 : value;
}

static bool mark(struct str text, size_t *at, char c)
{
    return *at < text.len && text.ptr[(*at)++] == c;
}

static int month_days(int year, int month)
{
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March, so that leap
 * days come last, and are counted from 400 years before year 0, so that none is negative. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year + 400 - (month <= 2), m = month <= 2 ? month + 9 : month - 3;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 146097 - 719468;
}

static bool read_fraction(struct str text, size_t *at, int64_t *us)
{
    int64_t scale = 100000;
    size_t start;

    *us = 0;
    if (*at >= text.len || text.ptr[*at] != '.')
        return true;
    for (start = ++*at; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9';
         ++*at, scale /= 10)
        *us += (text.ptr[*at] - '0') * scale;
    return *at > start && *at - start <= 12;
}

static bool read_offset(struct str text, size_t *at, int *minutes)
{
    char sign = *at < text.len ? text.ptr[(*at)++] : '\0';
    int hour, minute;

    *minutes = 0;
    if (sign == 'Z' || sign == 'z')
        return true;
    if (sign != '+' && sign != '-')
        return false;
    hour = digits(text, at, 2, 0, 23);
    if (hour < 0 || !mark(text, at, ':'))
        return false;
    minute = digits(text, at, 2, 0, 59);
    *minutes = (hour * 60 + minute) * (sign == '-' ? -1 : 1);
    return minute >= 0;
}

/* YYYY-MM-DD */
static bool read_date(struct str text, size_t *at, int64_t *days)
{
    int year = digits(text, at, 4, 0, 9999), month, day;

    if (year < 0 || !mark(text, at, '-'))
        return false;
    month = digits(text, at, 2, 1, 12);
    if (month < 0 || !mark(text, at, '-'))
        return false;
    day = digits(text, at, 2, 1, month_days(year, month));
    *days = day < 0 ? 0 : days_of(year, month, day);
    return day > 0;
}

/* HH:MM:SS, the leap second included. */
static bool read_clock(struct str text, size_t *at, int64_t *seconds)
{
    int hour = digits(text, at, 2, 0, 23), minute, second;

    if (hour < 0 || !mark(text, at, ':'))
        return false;
    minute = digits(text, at, 2, 0, 59);
    if (minute < 0 || !mark(text, at, ':'))
        return false;
    second = digits(text, at, 2, 0, 60);
    *seconds = (hour * 60 + minute) * 60 + second;
    return second >= 0;
}

static enum time_read read_rfc3339(struct str text, int64_t *us)
{
    int64_t days, seconds, fraction;
    size_t at = 0;
    int offset;

    if (!read_date(text, &at, &days) ||
        !(mark(text, &at, 'T') || (at > 0 && text.ptr[at - 1] == 't')) ||
        !read_clock(text, &at, &seconds) || !read_fraction(text, &at, &fraction) ||
        !read_offset(text, &at, &offset) || at != text.len)
        return TIME_UNREADABLE;
    *us = ((days * 86400 + seconds) - (int64_t)offset * 60) * 1000000 + fraction;
    return TIME_READ;
}

enum time_read time_read(enum time_unit unit, struct str text, int64_t *us)
{
    switch (unit) {
    case TIME_S:
        return read_number(text, 1000000, us);
    case TIME_MS:
        return read_number(text, 1000, us);
    case TIME_ISO8601:
        return read_rfc3339(text, us);
    }
    return TIME_UNREADABLE;
}
