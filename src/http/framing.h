/* Whether two readers could read a request's framing differently (RFC 9112 sections 5, 6 and 11.2):
 * libmicrohttpd is lenient there, so its view of the header is judged again before a byte of body
 * is read. Pure functions, any thread. */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct http_header;

struct http_framing {
    bool ambiguous; /* to be refused, and the connection closed: nothing after the header can be
                       trusted */
    bool chunked;
    int64_t length; /* Content-Length; -1: none */
    bool expect;    /* Expect: 100-continue: no body before we say so */
    bool old;
    struct str length_text; /* as it was sent */
};

/* `old`: an HTTP/1.0 request, which knows no chunks and no Expect. */
struct http_framing http_framing_read(const struct http_header *headers, size_t count, bool old);

/* The same one field after the other: `ambiguous` is set as soon as that is known. */
struct http_framing http_framing_begin(bool old);
void http_framing_field(struct http_framing *framing, struct str name, struct str value);

/* Whether the library's value of a header line is the one that was sent: it lies right behind its
 * name in the receive buffer, with only a colon and blanks between. It does not where the line was
 * folded: the library then moves the name and forgets the folded part. */
bool http_framing_in_place(struct str name, struct str value);

/* Whether two strings of the library follow each other in the receive buffer with nothing between
 * but what ended the first, which it replaces by NULs, and blanks. Where a NUL was sent within the
 * first, the rest of that lies between. */
bool http_framing_adjacent(struct str first, struct str second);

#endif
