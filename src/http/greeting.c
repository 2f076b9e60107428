/* Connections whose proxy has not yet said whom it speaks for. The header is looked at in the
 * socket's buffer and taken out only when it is whole, so that not a byte of what follows is lost.
 * A part of one is looked at again after a moment: the rest is on its way. Number and time are
 * bounded. Loop thread only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"
#include "http/proxy_header.h"

#define WAITING_MAX 1024
#define WAIT_US 5000000
#define AGAIN_MS 50

struct waiting {
    struct waiting *prev, *next;
    struct greetings *greetings;
    ev_io readable;
    int64_t until_us;
    struct sockaddr_storage peer;
    socklen_t peer_len;
};

struct greetings {
    struct http_server *server;
    struct loop_timer *sweep;
    struct waiting *first, *last; /* oldest first */
    size_t count;
};

/* Forgets it; returns its descriptor. */
static int forget(struct waiting *waiting)
{
    struct greetings *greetings = waiting->greetings;
    int fd = waiting->readable.fd;

    ev_io_stop(loop_ev(greetings->server->loop), &waiting->readable);
    *(waiting->prev ? &waiting->prev->next : &greetings->first) = waiting->next;
    *(waiting->next ? &waiting->next->prev : &greetings->last) = waiting->prev;
    greetings->count--;
    free(waiting);
    if (greetings->count == 0) {
        loop_timer_free(greetings->sweep);
        greetings->sweep = NULL;
    }
    return fd;
}

static void refuse(struct waiting *waiting, enum http_fault fault)
{
    struct http_server *server = waiting->greetings->server;

    server->options.handler->refused(server->options.argument, NULL, fault);
    farewell(server->farewells, forget(waiting), server->options.answers[fault]);
}

/* The header is whole: what follows is HTTP. */
static void hand_on(struct waiting *waiting, const struct proxied *proxied)
{
    struct http_server *server = waiting->greetings->server;
    struct sockaddr_storage peer = waiting->peer;
    socklen_t len = waiting->peer_len;
    char taken[PROXY_HEADER_MAX];
    int fd = forget(waiting);

    if (recv(fd, taken, proxied->len, MSG_DONTWAIT) != (ssize_t)proxied->len) {
        close(fd);
        return;
    }
    if (proxied->known) {
        peer = proxied->address;
        len = proxied->address_len;
    }
    server_take_socket(server, fd, (struct sockaddr *)&peer, len);
}

static void on_readable(struct ev_loop *ev, ev_io *watcher, int events)
{
    struct waiting *waiting = watcher->data;
    char bytes[PROXY_HEADER_MAX];
    ssize_t n = recv(watcher->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    struct proxied proxied;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close(forget(waiting));
        return;
    }
    switch (proxy_header_read((struct str){bytes, (size_t)n}, &proxied)) {
    case PROXY_HEADER_BAD:
        refuse(waiting, HTTP_BAD_FRAMING);
        break;
    case PROXY_HEADER_PART:
        ev_io_stop(ev, watcher); /* it would be readable all the time */
        break;
    case PROXY_HEADER_WHOLE:
        hand_on(waiting, &proxied);
        break;
    }
}

static void on_sweep(void *argument)
{
    struct greetings *greetings = argument;
    int64_t now = clock_mono_us();

    for (struct waiting *waiting = greetings->first, *next; waiting; waiting = next) {
        next = waiting->next;
        if (waiting->until_us <= now)
            refuse(waiting, HTTP_TOO_SLOW);
        else
            ev_io_start(loop_ev(greetings->server->loop), &waiting->readable);
    }
}

struct greetings *greetings_new(struct http_server *server)
{
    struct greetings *greetings = mem_alloc(sizeof(*greetings));

    greetings->server = server;
    return greetings;
}

void greetings_free(struct greetings *greetings)
{
    if (!greetings)
        return;
    for (struct waiting *waiting = greetings->first, *next; waiting; waiting = next) {
        next = waiting->next;
        close(forget(waiting));
    }
    free(greetings);
}

void greeting(struct greetings *greetings, int fd, const struct sockaddr *address, socklen_t len)
{
    struct http_server *server = greetings->server;
    struct waiting *waiting;

    if (greetings->count >= WAITING_MAX) {
        server->options.handler->refused(server->options.argument, NULL, HTTP_TOO_MANY);
        farewell(server->farewells, fd, server->options.answers[HTTP_TOO_MANY]);
        return;
    }
    waiting = mem_alloc(sizeof(*waiting));
    waiting->greetings = greetings;
    waiting->until_us = clock_mono_us() + WAIT_US;
    memcpy(&waiting->peer, address, len);
    waiting->peer_len = len;
    waiting->prev = greetings->last;
    *(greetings->last ? &greetings->last->next : &greetings->first) = waiting;
    greetings->last = waiting;
    greetings->count++;
    if (!greetings->sweep)
        greetings->sweep = loop_timer_new(server->loop, AGAIN_MS, on_sweep, greetings);
    ev_io_init(&waiting->readable, on_readable, fd, EV_READ);
    waiting->readable.data = waiting;
    ev_io_start(loop_ev(server->loop), &waiting->readable);
}
