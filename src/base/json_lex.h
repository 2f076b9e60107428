/* What the scanner and its followers (repair, string content, elements) share: classes of bytes,
 * runs of plain text, escapes. Only for json*.c of this folder. Everything here stays between `p`
 * and `end`; NULL means that the bytes are not what they should be. */
#ifndef BASE_JSON_LEX_H
#define BASE_JSON_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

#if defined(__SSE2__) && !defined(JSON_PORTABLE)
#include <emmintrin.h>
#endif

enum {
    JSON_C_BLANK = 1,  /* RFC 8259 "ws" */
    JSON_C_PLAIN = 2,  /* may stand in a string by itself: ASCII but controls, '"' and '\' */
    JSON_C_NUMBER = 4, /* may stand in a number: digits, '+', '-', '.', 'e', 'E' */
    JSON_C_DIGIT = 8,
};

extern const unsigned char json_class[256]; /* JSON_C_* by byte */

/* The first byte at or after p that is not a blank, or end. */
static inline const unsigned char *json_skip_blanks(const unsigned char *p,
                                                    const unsigned char *end)
{
    while (p < end && (json_class[*p] & JSON_C_BLANK))
        p++;
    return p;
}

static inline const unsigned char *json_skip_digits(const unsigned char *p,
                                                    const unsigned char *end)
{
    while (p < end && (json_class[*p] & JSON_C_DIGIT))
        p++;
    return p;
}

/* The first byte at or after p that is not JSON_C_PLAIN, or end. Sixteen at a time where the
 * machine can: half the time of a scan of a typical body. */
static inline const unsigned char *json_skip_plain(const unsigned char *p, const unsigned char *end)
{
#if defined(__SSE2__) && !defined(JSON_PORTABLE)
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        /* Signed: controls and everything from 0x80 up. */
        __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        int found = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));

        if (found)
            return p + __builtin_ctz((unsigned)found);
        p += 16;
    }
#endif
    while (p < end && (json_class[*p] & JSON_C_PLAIN))
        p++;
    return p;
}

static inline bool json_is_surrogate(uint32_t character)
{
    return character >= 0xd800 && character <= 0xdfff;
}

/* Reads the escape at p, which is at the backslash; a surrogate pair is one escape of twelve
 * bytes, a lone surrogate is given as it is. Returns the place after it; NULL: no escape, or cut.
 */
const unsigned char *json_read_escape(const unsigned char *p, const unsigned char *end,
                                      uint32_t *character);

/* Writes 1 to 4 bytes; surrogates as three bytes. Returns the place after them. */
char *json_write_utf8(char *out, uint32_t character);

/* The kind of the value whose first byte is given. */
enum json_kind json_kind_of(unsigned char first);

/* Whether the member name between its quotes, `raw`, is `name` once unescaped and repaired. */
bool json_name_is(struct str raw, struct str name);

#endif
