/* What the files of src/http share: an exchange is one request on its connection, from the request
 * line to the end of the answer. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <ev.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "http/request.h"
#include "http/server.h"

#define SOURCE_IP_SIZE 48

struct http_answer {
    unsigned status;
    bool close;
    char *body;
    struct MHD_Response *keeping, *closing;
    struct buf raw; /* whole answer with Connection: close */
};

/* One accepted socket: first it is an arrival, then the library has it. */
struct peer {
    struct peer *prev, *next;
    struct source *source;          /* counts those of one address; NULL: a Unix socket */
    char source_ip[SOURCE_IP_SIZE]; /* "": unknown */
    int64_t idle_since_us;          /* since it was accepted, or since the last request's end */
    size_t requests;
    struct exchange *exchange; /* the request whose line was read and whose end was not reached */
    int fd;                    /* the arrival's or the library's */
    int64_t ended_us;          /* when its sender's end was reported (hangup.c); 0: it was not */
    struct peer *prev_ended, *next_ended;
};

/* The connections by address (peers.c). */
struct peers;
struct peers *peers_new(void);
void peers_free(struct peers *peers); /* there are none left */
struct peer *peers_add(struct peers *peers, int fd, int64_t now_us);
/* Counts it among those of its sender's address; once. */
void peers_name(struct peers *peers, struct peer *peer, const struct sockaddr *address);
void peers_remove(struct peers *peers, struct peer *peer);
size_t peers_count(const struct peers *peers);
/* Those from the same address; 0 for one that is none. */
size_t peers_from(const struct peers *peers, const struct sockaddr *address);
/* Ends the connections that have been without a request since before `limit_us`. */
bool peers_end_idle(struct peers *peers, int64_t limit_us);

enum exchange_state {
    EXCHANGE_STARTED,  /* the request line was read */
    EXCHANGE_READING,  /* the body is kept */
    EXCHANGE_DROPPING, /* the answer is known; the rest of the body is read and dropped */
    EXCHANGE_HANDED,   /* within handler->body() */
    EXCHANGE_PARKED,   /* the connection sleeps until the answer */
    EXCHANGE_ANSWERED, /* the library has the answer */
    EXCHANGE_CUT,      /* we wrote the answer ourselves; the connection ends */
};

struct exchange {
    struct http_request request; /* first: the public face */
    struct http_server *server;
    struct MHD_Connection *connection; /* NULL: gone */
    enum exchange_state state;
    int references; /* the connection's and the holders' */
    struct buf body;
    struct peer *peer;
    struct str line;                  /* the target in the library's memory */
    size_t received;                  /* bytes of body, dropped ones included */
    size_t held;                      /* of the server's `buffered` */
    int64_t begun_us, head_us;        /* the line; the whole header */
    int64_t touched_us;               /* the last byte of body, or the answer */
    const struct http_answer *answer; /* once known */
    struct http_answer *own;          /* the same, where it was made for this request */
    struct exchange *prev, *next;     /* of the server's list, while `connection` is set */
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    ev_io ready;        /* the library's epoll descriptor */
    ev_prepare prepare; /* before each wait: runs what was resumed, asks the library how long */
    ev_timer timeout;   /* what it said */
    struct loop_timer *sweep;
    struct listener *listeners;
    struct arrivals *arrivals;
    struct peer *arriving; /* being handed to the library */
    struct farewells *farewells;
    struct hangups *hangups;
    struct exchange *first, *last; /* begun and not completed, oldest first */
    size_t open;                   /* length of that list */
    struct peers *peers;           /* sockets that the library has */
    size_t buffered;               /* bytes of bodies */
    size_t high_water;             /* the most that was held since memory was given back (ebb.c) */
    int low_looks;                 /* sweeps on end that found much less */
    int spare_fd;                  /* given up to be able to refuse when descriptors run out */
    bool draining;
    bool wake; /* something was resumed: the library has to run */
};

/* The library's three ends of a request (exchange.c). */
void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_continue(void *server, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *len, void **context);
void exchange_end(void *server, struct MHD_Connection *connection, void **context,
                  enum MHD_RequestTerminationCode code);

/* Its sender still has something to send. */
bool exchange_is_received(const struct exchange *exchange);
/* Writes the answer past the library and ends the connection so that its peer can read it. The
 * exchange ends on its own soon after. */
void exchange_cut(struct exchange *exchange, const struct http_answer *answer);

/* What the library tells of connections that begin and end. */
void server_on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code);
/* Whether there may be one more from that address (these: admit.c). */
bool server_has_room_for(const struct http_server *server, const struct sockaddr *address);
/* Hands a socket to the library. Takes `peer`. */
void server_take_socket(struct http_server *server, struct peer *peer,
                        const struct sockaddr *address, socklen_t len);
/* Refuses visibly where no request was read. Takes `fd`. */
void server_refuse_socket(struct http_server *server, int fd, enum http_fault fault);
/* Listening sockets (listen.c). */
void listeners_start(struct http_server *server);
/* What waits in the queues is taken first, but for inherited sockets, which live on. */
void listeners_close(struct http_server *server);

/* Connections whose first header is not there yet (arrival.c). */
struct arrivals *arrivals_new(struct http_server *server);
void arrivals_free(struct arrivals *arrivals); /* closes all */
/* Takes an accepted descriptor. `proxied`: it begins with the header of the PROXY protocol. */
void arrive(struct arrivals *arrivals, int fd, const struct sockaddr *address, socklen_t len,
            bool proxied);
/* Those whose request line is there. */
size_t arrivals_begun(const struct arrivals *arrivals);
void arrivals_sweep(struct arrivals *arrivals, int64_t now_us); /* ends the slow ones */
void arrivals_look(struct arrivals *arrivals); /* takes on what came since the last turn */
void arrivals_cut(struct arrivals *arrivals);  /* refuses those whose request line is there */

/* Ends the connections of senders that have closed their side before a request was whole, within
 * a moment (hangup.c). NULL: no descriptor is left. */
struct hangups *hangups_new(struct http_server *server);
void hangups_free(struct hangups *hangups); /* nothing is watched any more */
void hangups_watch(struct hangups *hangups, struct peer *peer);
void hangups_forget(struct hangups *hangups, struct peer *peer); /* before its socket is closed */

/* Gives memory back to the system when a flood is over (ebb.c): noted when something was taken,
 * looked at with every sweep. */
void ebb_note(struct http_server *server);
void ebb_look(struct http_server *server);

/* Takes the descriptor: writes the answer, then reads and drops what still comes for a moment, so
 * that the close does not turn into a reset that destroys the answer (farewell.c). */
struct farewells *farewells_new(struct loop *loop);
void farewells_free(struct farewells *farewells); /* closes all */
void farewell(struct farewells *farewells, int fd, const struct http_answer *answer);

#endif
