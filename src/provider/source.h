/* Sources: where an event's identity, type and key are read from.
 *
 *     body:/json/pointer   request:/json/pointer   header:Name   query:name   sha256   received
 *     member:/json/pointer   sha256:header:Name   ce:attribute   'literal'
 *     a | b     the first that exists
 *     a + b     both, joined with ":"; a ":" or "\" inside of a part is written "\:" or "\\"; every
 * part must exist. "+" binds tighter than "|"
 *
 * A string's content, a number's digits as sent and a boolean exist; objects, arrays, null and the
 * empty string do not. What is longer than 512 bytes, or is no PostgreSQL text (a NUL, half a
 * surrogate pair, a header that is not UTF-8), becomes "sha256:" and the digest of its bytes, so
 * that nothing is cut and what is distinct stays distinct. A header or query parameter that comes
 * twice does not exist: which of the two is meant cannot be told.
 *
 * "member:" is the name of a member, the pointer's last token, where that is there and not null:
 * of an object or array too. "sha256:header:" is the digest of a header's value, where the value
 * itself is not for the eyes.
 *
 * Where a request holds several events, "body:", "member:" and "sha256" are of the event,
 * "request:" of the whole document, and the others of the request. */
#ifndef PROVIDER_SOURCE_H
#define PROVIDER_SOURCE_H

#include "core/request.h"
#include "provider/scope.h"

#define SOURCE_VALUE_MAX 512

struct source;

/* "ce:" is an attribute of a CloudEvent: a header ce-NAME, or a member of the event.
 *
 * What sources are read from: a request and, where it is JSON, what the scans found at the
 * pointers. */
struct source_input {
    const struct request *request;
    /* In the order of the lists of the scope; NULL: nothing is there. */
    const struct json_value *values[SCOPE_LEVELS];
    bool attributes_in_headers; /* of a CloudEvent */
    struct str body_sha256_hex; /* of the event's bytes */
    struct arena *arena;        /* results live there */
};

/* Compiles; adds the pointers that it needs. The source lives in `arena`. NULL: ERR_INPUT with what
 * would be right. */
const struct source *source_new(struct str text, struct scope *scope, struct arena *arena,
                                struct err *err);

/* Whether nothing can be found without members of a body: all alternatives read one. */
bool source_needs_body(const struct source *source);

/* Whether every alternative reads something of the event itself, which another event of the same
 * request may not have. */
bool source_tells_events_apart(const struct source *source);

/* Whether it reads an attribute of a CloudEvent. */
bool source_reads_attributes(const struct source *source);

/* The i-th header that it reads; false: it reads no more. */
bool source_header_name(const struct source *source, size_t i, struct str *name);

/* The value; ptr NULL when nothing exists. Borrowed from request or arena. */
struct str source_value(const struct source *source, const struct source_input *input);

#endif
