/* Which JSON numbers PostgreSQL's numeric holds, and so jsonb. The rule is that of numeric_in() in
 * PostgreSQL 15, tried on the server on both sides of every boundary: the exponent alone must be
 * under 2^30 - 1 either way, even for zero; digits after the point, trailing zeros and all, once
 * the exponent has moved it, are at most 16383, even for zero; digits before it are at most 131072
 * from the first one that is not zero. */
#include "base/json_lex.h"

#define DIGITS_BEFORE_MAX 131072
#define DIGITS_AFTER_MAX 16383
#define EXPONENT_LIMIT 1073741823 /* INT_MAX / 2 */

/* Reads "+12", "-3", "4"; stops counting at the limit, beyond which nothing fits. */
static int64_t read_exponent(const unsigned char *p, const unsigned char *end)
{
    bool negative = p < end && *p == '-';
    int64_t value = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && value < EXPONENT_LIMIT; p++)
        value = value * 10 + (*p - '0');
    return negative ? -value : value;
}

bool json_number_fits(struct str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr, *end = p + text.len;
    int64_t before = 0, after = 0, zeros = 0, exponent = 0;
    bool point = false, zero = true;

    for (; p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.')
            point = true;
        if (!(json_class[*p] & JSON_C_DIGIT))
            continue;
        if (point)
            after++;
        else
            before++;
        if (*p != '0')
            zero = false;
        if (zero)
            zeros++;
    }
    if (p < end)
        exponent = read_exponent(p + 1, end);
    if (exponent >= EXPONENT_LIMIT || exponent <= -EXPONENT_LIMIT)
        return false;
    if (after - exponent > DIGITS_AFTER_MAX)
        return false;
    return zero || before - zeros + exponent <= DIGITS_BEFORE_MAX;
}
