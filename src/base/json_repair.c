/* The slow path: a copy of a good document in which jsonb finds nothing to refuse. It needs no
 * grammar: outside of strings only numbers begin with a digit or '-', inside only escapes with a
 * backslash. */
#include "base/json_lex.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The least number that does not fit has eight bytes ("1e131072") and gets two quotes; escapes
 * become shorter. */
static size_t repaired_room(size_t len)
{
    return len + len / 4 + 1;
}

static char *copy(char *out, const unsigned char *from, const unsigned char *to)
{
    memcpy(out, from, (size_t)(to - from));
    return out + (to - from);
}

/* p is at a quote; moves it behind the string. */
static char *repair_string(char *out, const unsigned char **place, const unsigned char *end)
{
    const unsigned char *start = *place, *p = start + 1;

    while (p < end && *p != '"') {
        const unsigned char *after;
        uint32_t character;

        if (*p != '\\') {
            p++;
            continue;
        }
        after = json_read_escape(p, end, &character);
        if (!after)
            break;
        if (character == 0 || json_is_surrogate(character)) {
            out = copy(out, start, p);
            out = copy(out, (const unsigned char *)REPLACEMENT,
                       (const unsigned char *)REPLACEMENT + strlen(REPLACEMENT));
            start = after;
        }
        p = after;
    }
    *place = p < end ? p + 1 : end;
    return copy(out, start, *place);
}

/* p is at a number; moves it behind. */
static char *repair_number(char *out, const unsigned char **place, const unsigned char *end)
{
    const unsigned char *start = *place, *p = start;
    bool fits;

    while (p < end && (json_class[*p] & JSON_C_NUMBER))
        p++;
    *place = p;
    fits = json_number_fits((struct str){(const char *)start, (size_t)(p - start)});
    if (!fits)
        *out++ = '"';
    out = copy(out, start, p);
    if (!fits)
        *out++ = '"';
    return out;
}

struct str json_repair(struct str document, struct arena *arena)
{
    const unsigned char *p = (const unsigned char *)document.ptr, *end = p + document.len;
    char *repaired = arena_bytes(arena, repaired_room(document.len));
    char *out = repaired;

    if (document.len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        if (*p == '"')
            out = repair_string(out, &p, end);
        else if (*p == '-' || (json_class[*p] & JSON_C_DIGIT))
            out = repair_number(out, &p, end);
        else
            *out++ = (char)*p++;
    }
    return (struct str){repaired, (size_t)(out - repaired)};
}
