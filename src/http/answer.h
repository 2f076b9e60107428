/* An answer that is given often: made once, sent any number of times. Loop thread only. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include <stdbool.h>

#include "base/str.h"

struct http_answer;

struct http_answer_spec {
    unsigned status;
    const char *text;        /* the body: one line, without its newline */
    const char *result;      /* value of Inboxd-Result */
    const char *retry_after; /* NULL: no such header */
    const char *allow;       /* NULL: no such header */
    bool close;              /* the connection is closed after it */
};

struct http_answer *http_answer_new(const struct http_answer_spec *spec);
void http_answer_free(struct http_answer *answer); /* takes NULL */

#endif
