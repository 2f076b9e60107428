/* Connections before libmicrohttpd has them. What they bring first is looked at where it lies, in
 * the socket's buffer: the header of the PROXY protocol where the listener asks for one, which is
 * taken out, and the first request's header, which the library gets whole and sound or not at all.
 * So what is no HTTP gets our answer and not the library's, and a connection that brings nothing
 * costs little. A socket of which there is only a part becomes readable again when there is more
 * (SO_RCVLOWAT); where the kernel does not heed that it is looked at after a moment. Loop thread
 * only. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"
#include "http/head.h"
#include "http/proxy_header.h"

#define PROXY_WAIT_US 5000000
#define AGAIN_MS 50
/* What the kernel keeps for a socket of which nothing is read. A longer header is the library's. */
#define PEEK_MAX 32768

struct arrival {
    struct arrival *prev, *next;
    struct arrivals *arrivals;
    struct peer *peer;
    ev_io readable;
    struct sockaddr_storage address;
    socklen_t address_len;
    bool proxied;                 /* the header of the PROXY protocol is still to come */
    bool line;                    /* the request line is there */
    bool resting;                 /* looked at again after a moment */
    bool marked;                  /* SO_RCVLOWAT is set */
    size_t seen;                  /* bytes, at the last look */
    int64_t since_us, touched_us; /* accepted, or the request line; the last byte */
};

struct arrivals {
    struct http_server *server;
    struct loop_timer *again;
    struct arrival *first, *last; /* oldest first */
    size_t begun, resting;
    char *bytes; /* of the socket that is being looked at */
    size_t size;
};

/* Its descriptor is the caller's, and so is its peer. */
static struct peer *forget(struct arrival *arrival)
{
    struct arrivals *arrivals = arrival->arrivals;
    struct peer *peer = arrival->peer;

    ev_io_stop(loop_ev(arrivals->server->loop), &arrival->readable);
    *(arrival->prev ? &arrival->prev->next : &arrivals->first) = arrival->next;
    *(arrival->next ? &arrival->next->prev : &arrivals->last) = arrival->prev;
    arrivals->begun -= arrival->line;
    arrivals->resting -= arrival->resting;
    free(arrival);
    if (arrivals->resting == 0) {
        loop_timer_free(arrivals->again);
        arrivals->again = NULL;
    }
    return peer;
}

/* Without a word. */
static void end(struct arrival *arrival)
{
    struct peers *peers = arrival->arrivals->server->peers;
    struct peer *peer = forget(arrival);

    close(peer->fd);
    peers_remove(peers, peer);
}

static void refuse(struct arrival *arrival, enum http_fault fault)
{
    struct http_server *server = arrival->arrivals->server;
    struct peer *peer = forget(arrival);
    int fd = peer->fd;

    peers_remove(server->peers, peer);
    server_refuse_socket(server, fd, fault);
}

/* Whether the sender has closed its side. */
static bool has_ended(int fd)
{
    struct pollfd ended = {.fd = fd, .events = POLLRDHUP};

    return poll(&ended, 1, 0) > 0;
}

static void look(struct arrival *arrival);

static void on_again(void *argument)
{
    struct arrivals *arrivals = argument;

    for (struct arrival *arrival = arrivals->first, *next; arrival; arrival = next) {
        next = arrival->next;
        if (arrival->resting)
            look(arrival);
    }
}

static void on_readable(struct ev_loop *ev, ev_io *watcher, int events)
{
    (void)ev;
    (void)events;
    look(watcher->data);
}

static void watch(struct arrival *arrival)
{
    if (!arrival->resting)
        ev_io_start(loop_ev(arrival->arrivals->server->loop), &arrival->readable);
}

static void rest(struct arrival *arrival)
{
    struct arrivals *arrivals = arrival->arrivals;

    if (arrival->resting)
        return;
    ev_io_stop(loop_ev(arrivals->server->loop), &arrival->readable);
    arrival->resting = true;
    arrivals->resting++;
    if (!arrivals->again)
        arrivals->again = loop_timer_new(arrivals->server->loop, AGAIN_MS, on_again, arrivals);
}

/* There are `size` bytes, which are not enough. */
static void wait_for_more(struct arrival *arrival, size_t size)
{
    int more = (int)size + 1;

    if (size > arrival->seen) {
        arrival->seen = size;
        arrival->touched_us = clock_mono_us();
        if (arrival->line)
            arrival->peer->idle_since_us = arrival->touched_us;
        if (!arrival->resting)
            arrival->marked =
                setsockopt(arrival->peer->fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more)) == 0;
        if (arrival->marked) {
            watch(arrival);
            return;
        }
    }
    if (has_ended(arrival->peer->fd))
        end(arrival);
    else
        rest(arrival);
}

static void hand_over(struct arrival *arrival)
{
    struct http_server *server = arrival->arrivals->server;
    struct sockaddr_storage address = arrival->address;
    socklen_t len = arrival->address_len;
    bool marked = arrival->marked;
    struct peer *peer = forget(arrival);
    const int one = 1;

    if (marked)
        setsockopt(peer->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    server_take_socket(server, peer, (struct sockaddr *)&address, len);
}

static void look_at_head(struct arrival *arrival, size_t size)
{
    struct arrivals *arrivals = arrival->arrivals;
    struct http_scan scan = http_head_scan((struct str){arrivals->bytes, size},
                                           arrivals->server->options.limits.header);

    if (scan.fault != HTTP_NO_FAULT) {
        refuse(arrival, scan.fault);
        return;
    }
    if (scan.whole || size == arrivals->size) {
        hand_over(arrival);
        return;
    }
    if (scan.line && !arrival->line) {
        arrival->line = true;
        arrivals->begun++;
        arrival->since_us = clock_mono_us();
    }
    wait_for_more(arrival, size);
}

/* The header is whole: what follows is HTTP, of the sender that it names. */
static void take_proxy_header(struct arrival *arrival, const struct proxied *proxied)
{
    struct arrivals *arrivals = arrival->arrivals;
    struct http_server *server = arrivals->server;

    if (recv(arrival->peer->fd, arrivals->bytes, proxied->len, MSG_DONTWAIT) !=
        (ssize_t)proxied->len) {
        end(arrival);
        return;
    }
    if (proxied->known) {
        arrival->address = proxied->address;
        arrival->address_len = proxied->address_len;
    }
    if (!server_has_room_for(server, (struct sockaddr *)&arrival->address)) {
        refuse(arrival, HTTP_TOO_MANY);
        return;
    }
    peers_name(server->peers, arrival->peer, (struct sockaddr *)&arrival->address);
    arrival->proxied = false;
    arrival->seen = 0;
    look(arrival);
}

static void look_at_proxy_header(struct arrival *arrival, size_t size)
{
    struct str bytes = {arrival->arrivals->bytes,
                        size < PROXY_HEADER_MAX ? size : PROXY_HEADER_MAX};
    struct proxied proxied;

    switch (proxy_header_read(bytes, &proxied)) {
    case PROXY_HEADER_BAD:
        refuse(arrival, HTTP_BAD_FRAMING);
        break;
    case PROXY_HEADER_PART:
        wait_for_more(arrival, size);
        break;
    case PROXY_HEADER_WHOLE:
        take_proxy_header(arrival, &proxied);
        break;
    }
}

static void look(struct arrival *arrival)
{
    struct arrivals *arrivals = arrival->arrivals;
    ssize_t n = recv(arrival->peer->fd, arrivals->bytes, arrivals->size, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch(arrival);
    } else if (n <= 0) {
        end(arrival);
    } else if (arrival->proxied) {
        look_at_proxy_header(arrival, (size_t)n);
    } else {
        look_at_head(arrival, (size_t)n);
    }
}

/* ---- the server's ---- */

struct arrivals *arrivals_new(struct http_server *server)
{
    struct arrivals *arrivals = mem_alloc(sizeof(*arrivals));

    arrivals->server = server;
    arrivals->size =
        server->options.limits.header < PEEK_MAX ? server->options.limits.header : PEEK_MAX;
    if (arrivals->size < PROXY_HEADER_MAX)
        arrivals->size = PROXY_HEADER_MAX;
    arrivals->bytes = mem_alloc(arrivals->size);
    return arrivals;
}

void arrivals_free(struct arrivals *arrivals)
{
    if (!arrivals)
        return;
    for (struct arrival *arrival = arrivals->first, *next; arrival; arrival = next) {
        next = arrival->next;
        end(arrival);
    }
    free(arrivals->bytes);
    free(arrivals);
}

void arrive(struct arrivals *arrivals, int fd, const struct sockaddr *address, socklen_t len,
            bool proxied)
{
    struct http_server *server = arrivals->server;
    int64_t now_us = clock_mono_us();
    struct arrival *arrival;

    if (peers_count(server->peers) >= server->options.limits.connections ||
        (!proxied && !server_has_room_for(server, address))) {
        server_refuse_socket(server, fd, HTTP_TOO_MANY);
        return;
    }
    arrival = mem_alloc(sizeof(*arrival));
    arrival->arrivals = arrivals;
    arrival->peer = peers_add(server->peers, fd, now_us);
    if (!proxied)
        peers_name(server->peers, arrival->peer, address);
    memcpy(&arrival->address, address, len);
    arrival->address_len = len;
    arrival->proxied = proxied;
    arrival->since_us = arrival->touched_us = now_us;
    arrival->prev = arrivals->last;
    *(arrivals->last ? &arrivals->last->next : &arrivals->first) = arrival;
    arrivals->last = arrival;
    ev_io_init(&arrival->readable, on_readable, fd, EV_READ);
    arrival->readable.data = arrival;
    look(arrival);
}

size_t arrivals_begun(const struct arrivals *arrivals)
{
    return arrivals->begun;
}

static bool is_too_slow(const struct arrival *arrival, int64_t now_us)
{
    const struct http_limits *limits = &arrival->arrivals->server->options.limits;

    if (arrival->proxied)
        return now_us - arrival->since_us > PROXY_WAIT_US;
    return arrival->line && (now_us - arrival->since_us > limits->header_timeout_ms * 1000 ||
                             now_us - arrival->touched_us > limits->idle_timeout_ms * 1000);
}

void arrivals_sweep(struct arrivals *arrivals, int64_t now_us)
{
    for (struct arrival *arrival = arrivals->first, *next; arrival; arrival = next) {
        next = arrival->next;
        if (is_too_slow(arrival, now_us))
            refuse(arrival, HTTP_TOO_SLOW);
    }
}

void arrivals_look(struct arrivals *arrivals)
{
    for (struct arrival *arrival = arrivals->first, *next; arrival; arrival = next) {
        next = arrival->next;
        look(arrival);
    }
}

void arrivals_cut(struct arrivals *arrivals)
{
    for (struct arrival *arrival = arrivals->first, *next; arrival; arrival = next) {
        next = arrival->next;
        if (arrival->line)
            refuse(arrival, HTTP_TOO_MANY);
    }
}
