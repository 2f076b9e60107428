/* Sources: where an event's identity, type and key are read from.
 *
 *     body:/json/pointer   header:Name   query:name   sha256   received   'literal'
 *     a | b     the first that exists
 *     a + b     both, joined with ":"; a ":" or "\" inside of a part is written "\:" or "\\"; every
 * part must exist. "+" binds tighter than "|"
 *
 * A string's content, a number's digits as sent and a boolean exist; objects, arrays, null and the
 * empty string do not. What is longer than 512 bytes, or is no PostgreSQL text (a NUL, half a
 * surrogate pair, a header that is not UTF-8), becomes "sha256:" and the digest of its bytes, so
 * that nothing is cut and what is distinct stays distinct. A header or query parameter that comes
 * twice does not exist: which of the two is meant cannot be told. */
#ifndef PROVIDER_SOURCE_H
#define PROVIDER_SOURCE_H

#include "base/json.h"
#include "core/request.h"

#define SOURCE_VALUE_MAX 512

struct source;

/* The pointers of all sources of a provider, so that one scan of a body serves them all. */
struct pointer_list {
    struct str texts[JSON_PATHS_MAX]; /* from the arena of the sources */
    size_t count;
};

/* What sources are read from: a request and, where it is JSON, what the scan found at the pointers.
 */
struct source_input {
    const struct request *request;
    const struct json_value
        *values; /* in the order of the pointer list; NULL: the body is not JSON */
    struct str body_sha256_hex;
    struct arena *arena; /* results live there */
};

/* Compiles; adds the pointers that it needs. The source lives in `arena`. NULL: ERR_INPUT with what
 * would be right. */
const struct source *source_new(struct str text, struct pointer_list *pointers, struct arena *arena,
                                struct err *err);

/* Whether nothing can be found without members of a body: all alternatives read one. */
bool source_needs_body(const struct source *source);

/* The i-th header that it reads; false: it reads no more. */
bool source_header_name(const struct source *source, size_t i, struct str *name);

/* The value; ptr NULL when nothing exists. Borrowed from request or arena. */
struct str source_value(const struct source *source, const struct source_input *input);

#endif
