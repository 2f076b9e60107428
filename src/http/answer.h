/* An answer: made once, sent any number of times, or made for one request and given to it. Loop
 * thread only. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include <stdbool.h>

#include "base/str.h"
#include "http/request.h"

struct http_answer;

struct http_answer_spec {
    unsigned status;
    const char *text;         /* the body: one line, without its newline; NULL: `body` as it is */
    struct str body;          /* any bytes, copied */
    const char *content_type; /* NULL: text/plain */
    const char *result;       /* value of Inboxd-Result */
    const char *retry_after;  /* NULL: no such header */
    const char *allow;        /* NULL: no such header */
    bool close;               /* the connection is closed after it */
    const struct http_header *headers; /* further ones; one whose name or value could begin another
                                          line is left out */
    size_t header_count;
};

struct http_answer *http_answer_new(const struct http_answer_spec *spec);
void http_answer_free(struct http_answer *answer); /* takes NULL */

#endif
