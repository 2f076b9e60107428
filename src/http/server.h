/* The HTTP server: libmicrohttpd driven from the event loop. Listening sockets are ours and
 * accepted ones are handed to the library, so that there may be several listeners and a connection
 * too many gets a visible refusal. Loop thread only. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "http/answer.h"
#include "http/fault.h"
#include "http/request.h"
#include "loop/loop.h"

struct http_server;

struct http_handler {
    /* The header is complete and its framing sound: limits the body or refuses. */
    void (*head)(void *argument, struct http_request *request);
    /* The body is complete: answers, now or later. */
    void (*body)(void *argument, struct http_request *request);
    /* The server refuses by itself. `request` is NULL where none was read. */
    void (*refused)(void *argument, struct http_request *request, enum http_fault fault);
    /* The request is about to be freed and its `owner` is set: gives up what that stands for. */
    void (*ended)(void *argument, struct http_request *request);
};

/* What one server takes; beyond it there is the answer of a fault, or a close. */
struct http_limits {
    size_t connections;             /* HTTP_TOO_MANY */
    size_t connections_per_address; /* likewise; 0: no limit of its own */
    size_t requests_per_connection; /* then the answer closes it */
    size_t header;                  /* bytes of memory that a connection has for it */
    size_t buffered;                /* bytes of bodies held at once: HTTP_TOO_MANY */
    int64_t idle_timeout_ms;        /* until a request's first line is there, and without any byte
                                       within one: a close, or HTTP_TOO_SLOW */
    int64_t header_timeout_ms;      /* from that line to the end of the header: HTTP_TOO_SLOW */
    int64_t body_timeout_ms;        /* from there to the end of the body: HTTP_TOO_SLOW */
    int64_t body_rate;              /* bytes a second on average, but for the first
                                       HTTP_RATE_GRACE_S: HTTP_TOO_SLOW */
};

#define HTTP_RATE_GRACE_S 10

struct http_server_options {
    struct loop *loop;
    struct http_limits limits;
    const struct http_handler *handler;
    void *argument;
    const struct http_answer *answers[HTTP_FAULT_COUNT]; /* borrowed; must outlive the server */
};

struct http_server *http_server_new(const struct http_server_options *options, struct err *err);
/* Ends every connection. Every request must have been dropped by its holders. Takes NULL. */
void http_server_free(struct http_server *server);

/* Listens; nothing is accepted before http_server_start(). `host` is numeric. `name` receives the
 * address that was bound, as text. */
#define HTTP_NAME_SIZE 160
/* `proxied`: connections begin with the header of the PROXY protocol. */
int http_server_listen_tcp(struct http_server *server, struct str host, uint16_t port, bool proxied,
                           char name[static HTTP_NAME_SIZE], struct err *err) MUST_CHECK;

struct http_unix {
    struct str path;
    unsigned mode; /* of the file */
    uid_t owner;   /* (uid_t)-1: the process's */
    gid_t group;   /* likewise */
    bool proxied;
};

/* A stale socket file is replaced. */
int http_server_listen_unix(struct http_server *server, const struct http_unix *where,
                            char name[static HTTP_NAME_SIZE], struct err *err) MUST_CHECK;
/* Takes a socket that listens already (handed over by the service manager). */
void http_server_listen_fd(struct http_server *server, int fd, bool proxied,
                           char name[static HTTP_NAME_SIZE]);

void http_server_start(struct http_server *server);

/* Stops listening. Requests whose header was complete before are served as ever; those that come
 * later on open connections are refused. Every answer closes its connection. */
void http_server_drain(struct http_server *server);
/* Requests that were begun and are not yet answered. */
size_t http_server_open(const struct http_server *server);
/* Refuses every request that is still being received, and ends the connections of senders that
 * have not taken their answer for a second. Those with the handler stay. */
void http_server_cut(struct http_server *server);

#endif
