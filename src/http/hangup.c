/* Notices senders that have ended their side of the connection. The library misses an end that
 * arrives together with bytes: its sockets are edge-triggered, and it does not read again after a
 * read that was not full. So every connection stands in an epoll set of ours that reports nothing
 * but ends. One that was reported is looked at from time to time until the library has closed it:
 * when no byte of it is left to read, nothing waits for an answer and nobody has moved for a
 * moment, no request can come of it any more. A sender that has sent a whole request and closed its
 * side gets its answer. Loop thread only. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"

#define LOOK_MS 100
/* The library works off what it has read at once; this is far longer. */
#define SETTLED_US 50000
#define EVENTS 64

struct hangups {
    struct http_server *server;
    int epoll;
    ev_io ready;
    struct loop_timer *look;
    struct peer *first; /* whose end was reported */
};

static void unlist(struct hangups *hangups, struct peer *peer)
{
    if (!peer->ended_us)
        return;
    *(peer->prev_ended ? &peer->prev_ended->next_ended : &hangups->first) = peer->next_ended;
    if (peer->next_ended)
        peer->next_ended->prev_ended = peer->prev_ended;
    peer->prev_ended = peer->next_ended = NULL;
    peer->ended_us = 0;
}

/* Whether all that was sent has been read. */
static bool is_read(const struct peer *peer)
{
    char byte;
    ssize_t n = recv(peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Makes the library see the end. A refusal that is already known is written first: the sender may
 * have closed its side only. */
static void let_go(struct peer *peer)
{
    struct exchange *exchange = peer->exchange;

    if (exchange && exchange->state == EXCHANGE_DROPPING)
        exchange_cut(exchange, exchange->answer);
    shutdown(peer->fd, SHUT_RDWR);
}

static void on_look(void *argument)
{
    struct hangups *hangups = argument;
    int64_t settled_us = clock_mono_us() - SETTLED_US;

    for (struct peer *peer = hangups->first, *next; peer; peer = next) {
        const struct exchange *exchange = peer->exchange;

        next = peer->next_ended;
        if (peer->ended_us > settled_us || (exchange && !exchange_is_received(exchange)) ||
            (exchange && exchange->touched_us > settled_us) || !is_read(peer))
            continue;
        unlist(hangups, peer);
        let_go(peer);
        hangups->server->wake = true;
    }
    if (!hangups->first) {
        loop_timer_free(hangups->look);
        hangups->look = NULL;
    }
}

static void on_ready(struct ev_loop *ev, ev_io *watcher, int events)
{
    struct hangups *hangups = watcher->data;
    struct epoll_event ended[EVENTS];
    int count = epoll_wait(hangups->epoll, ended, EVENTS, 0);

    (void)ev;
    (void)events;
    for (int i = 0; i < count; i++) {
        struct peer *peer = ended[i].data.ptr;

        if (peer->ended_us)
            continue;
        peer->ended_us = clock_mono_us();
        peer->next_ended = hangups->first;
        if (peer->next_ended)
            peer->next_ended->prev_ended = peer;
        hangups->first = peer;
    }
    if (hangups->first && !hangups->look)
        hangups->look = loop_timer_new(hangups->server->loop, LOOK_MS, on_look, hangups);
}

struct hangups *hangups_new(struct http_server *server)
{
    struct hangups *hangups = mem_alloc(sizeof(*hangups));

    hangups->server = server;
    hangups->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (hangups->epoll < 0) {
        free(hangups);
        return NULL;
    }
    ev_io_init(&hangups->ready, on_ready, hangups->epoll, EV_READ);
    hangups->ready.data = hangups;
    ev_io_start(loop_ev(server->loop), &hangups->ready);
    return hangups;
}

void hangups_free(struct hangups *hangups)
{
    if (!hangups)
        return;
    ev_io_stop(loop_ev(hangups->server->loop), &hangups->ready);
    loop_timer_free(hangups->look);
    close(hangups->epoll);
    free(hangups);
}

void hangups_watch(struct hangups *hangups, struct peer *peer)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = peer};

    /* Where the kernel has no room for it, `idle_timeout` still ends what was left. */
    (void)epoll_ctl(hangups->epoll, EPOLL_CTL_ADD, peer->fd, &event);
}

void hangups_forget(struct hangups *hangups, struct peer *peer)
{
    unlist(hangups, peer);
    (void)epoll_ctl(hangups->epoll, EPOLL_CTL_DEL, peer->fd, NULL);
}
