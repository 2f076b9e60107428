/* One request as the front end has received it. It belongs to its connection and to everyone who
 * holds it, and is freed when neither is left: an answer may have gone, and the connection with it,
 * while a store thread still reads the body. Nothing in it points into the library's memory. Loop
 * thread only, except that a holder may hand the bytes to another thread for reading. */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

struct http_answer;

/* A header field; repeated ones are several entries, in the order received; the name as sent, the
 * value without blanks around it. Fields of a trailer are never among them. */
struct http_header {
    struct str name, value;
};

struct http_request {
    struct str method;
    struct str target; /* raw, as in the request line */
    const struct http_header *headers;
    size_t header_count;
    struct str body;      /* whole from handler->body() on */
    int64_t length;       /* of the body, as announced, or as much as has come; 0: none yet */
    struct str source_ip; /* text form; ptr NULL: unknown (unix socket) */
    int64_t received_us;  /* wall clock, when the header was complete */
    struct arena *arena;  /* lives as long as the request; for the holders' own data */
    void *owner;          /* the handler's */
};

/* Within handler->head(): the largest body that is kept; one byte more is answered too large. */
void http_request_limit(struct http_request *request, size_t max_body);

/* Answers; the first answer counts, later ones are ignored. Within head() it is a refusal: the rest
 * of the request is read and dropped first, or the connection closes at once where the sender
 * waits for a go-ahead. May be called after the connection is gone. */
void http_request_answer(struct http_request *request, const struct http_answer *answer);
/* The same with an answer that was made for this request: taken, freed with it. */
void http_request_answer_once(struct http_request *request, struct http_answer *answer);

void http_request_hold(struct http_request *request);
void http_request_drop(struct http_request *request);

#endif
