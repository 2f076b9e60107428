/* The header of a request: what is refused of it whatever its path and body, and with which fault
 * (RFC 9112 sections 2 to 6, RFC 9110 section 5). The same judgement is given on the bytes as they
 * lie in the socket, before libmicrohttpd sees them, and on what that makes of a later request of a
 * connection. Pure functions, any thread. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "http/fault.h"
#include "http/framing.h"

/* A longer method is nobody's; of the registered ones UPDATEREDIRECTREF is the longest. */
#define HTTP_METHOD_MAX 32

/* More lines than that are too large a header, however short they are. */
#define HTTP_FIELDS_MAX 256

struct http_head {
    struct http_framing framing;
    enum http_fault fault; /* the first that was found */
    size_t fields, hosts;
};

void http_head_line(struct http_head *head, struct str method, struct str target,
                    struct str version);
/* `value` without blanks around it. */
void http_head_field(struct http_head *head, struct str name, struct str value);
void http_head_end(struct http_head *head);

struct http_scan {
    bool line;  /* the request line is complete */
    bool whole; /* the header is complete, and sound if there is no fault */
    enum http_fault fault;
};

/* Looks through what has come so far. What it finds depends on the bytes only, not on how many of
 * them there were at a time: the fault is that of the first byte at which there is one. `limit`:
 * bytes of memory that the library has for a header; a sound one leaves it enough. */
struct http_scan http_head_scan(struct str bytes, size_t limit);

#endif
