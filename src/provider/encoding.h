/* Content-Encoding (RFC 9110 section 8.4): how a sender packed a body. Signatures are over the
 * bytes as sent, and so is what is stored; what is in them is read only after they were verified.
 * Pure, any thread. */
#ifndef PROVIDER_ENCODING_H
#define PROVIDER_ENCODING_H

#include "base/mem.h"
#include "core/refusal.h"
#include "core/request.h"

enum encoding {
    ENCODING_NONE,    /* or "identity" */
    ENCODING_GZIP,    /* or "x-gzip" */
    ENCODING_DEFLATE, /* zlib or raw */
    ENCODING_UNKNOWN, /* another one, or several */
};

enum encoding encoding_of(const struct request *request);

/* The text of a body: the body itself where it is not encoded, or has no bytes at all; else it
 * lives in `arena` and has at most `max` bytes. REFUSAL_NONE, or why there is none. */
enum refusal encoding_undo(const struct request *request, size_t max, struct arena *arena,
                           struct str *text);

#endif
