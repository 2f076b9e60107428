/* Compressed bytes to what they hold: gzip (RFC 1952; several members are one text, as gzip(1)
 * reads them), zlib (RFC 1950) and raw deflate (RFC 1951). Strict: a stream that is cut, damaged,
 * or followed by anything is an error, so that two readers never see different texts. The result
 * is bounded while it is made, never after. Pure, any thread; the work is bounded by the lengths of
 * both texts. */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/str.h"

enum inflate_format {
    INFLATE_GZIP,
    INFLATE_DEFLATE, /* HTTP's "deflate": zlib where it begins with a header of zlib, else raw: both
                        are sent under this name */
};

enum inflate_result {
    INFLATE_OK,
    INFLATE_BAD,       /* not that format, cut, damaged, or something behind it */
    INFLATE_TOO_LARGE, /* holds more than the buffer's cap */
    INFLATE_NO_MEMORY,
};

/* Puts the text into `out`, which is empty and has a cap. What was made before a failure stays
 * there and is good for nothing. */
enum inflate_result inflate_text(struct str packed, enum inflate_format format,
                                 struct buf *out) MUST_CHECK;

#endif
