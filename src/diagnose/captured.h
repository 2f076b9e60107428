/* A captured HTTP request: request line, headers, an empty line, the body, as a proxy, tcpdump or
 * nc wrote it to a file. Lenient where a capture suffers without harm: lines of the head may end in
 * LF, a chunked body may be as sent or put together already. Pure, any thread. */
#ifndef DIAGNOSE_CAPTURED_H
#define DIAGNOSE_CAPTURED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/request.h"

struct captured {
    struct request request; /* received_us is 0; the rest borrows the text or lives in the arena */
    bool chunked;           /* the body was put together from chunks */
    bool lf_only; /* the head's lines end in LF: a program may have rewritten the body's */
    int64_t content_length; /* -1: none */
    size_t file_body;       /* bytes after the head */
};

/* ERR_INPUT: it is no request; the text says what was expected, and where. */
int captured_read(struct str text, struct arena *arena, struct captured *captured,
                  struct err *err) MUST_CHECK;

#endif
