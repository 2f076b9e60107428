/* A received request as verification and providers see it. Everything is borrowed from the front
 * end and outlives what is made of it. */
#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* A header field as received; repeated fields are several entries, in order. Names keep the
 * sender's case. */
struct header {
    struct str name, value;
};

struct request {
    struct str method;
    struct str target; /* raw, as in the request line */
    struct str query;  /* raw, without '?'; ptr NULL: none */
    const struct header *headers;
    size_t header_count;
    struct str body;
    struct str source_ip; /* text form; ptr NULL: unknown (unix socket) */
    int64_t received_us;  /* wall clock, us since 1970 */
};

/* How often a field occurs; *value is the first one's. Names are compared without case (RFC 9110
 * section 5.1). */
size_t request_header(const struct request *request, struct str name, struct str *value);

/* How often a query parameter occurs; *value is the first one's, raw, percent-encoded as sent. */
size_t request_query(const struct request *request, struct str name, struct str *value);

/* Whether a setting can mean a header by this: letters, digits, '-', '_' and '.'. Stricter than RFC
 * 9110, so that "X-Id|sha256", written without blanks, is not taken for a name. */
bool request_names_header(struct str name);

#endif
