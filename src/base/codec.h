/* Hexadecimal and base64 (RFC 4648), strict: nothing is skipped, nothing is guessed. Pure
 * functions, any thread. */
#ifndef BASE_CODEC_H
#define BASE_CODEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

/* Decoders write at most `max` bytes and return how many, or -1: not that encoding, or more than
 * `max`. */
ssize_t codec_hex_decode(struct str text, unsigned char *out, size_t max); /* either case */

enum base64_flags {
    BASE64_STRICT = 0,          /* standard alphabet, padding, zero spare bits */
    BASE64_URL = 1,             /* the alphabet of section 5 */
    BASE64_EITHER_ALPHABET = 2, /* standard or url-safe characters */
    BASE64_PADDING_OPTIONAL = 4,
};
ssize_t codec_base64_decode(struct str text, int flags, unsigned char *out, size_t max);

/* Encoders write a NUL-terminated text; `out` has room for the sizes below. */
#define CODEC_HEX_SIZE(len) ((len)*2 + 1)
#define CODEC_BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)
void codec_hex_encode(const void *bytes, size_t len, char *out); /* lower case */
void codec_base64_encode(const void *bytes, size_t len, bool url, char *out);

/* Percent-decoding of a query value (RFC 3986; '+' is a blank, as forms write it). Returns the
 * length, -1 where a '%' is not followed by two digits. `out` has room for text.len bytes. */
ssize_t codec_percent_decode(struct str text, char *out);

#endif
