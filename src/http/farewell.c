/* Sockets that got a refusal past the library and are being closed so that their peer can read it
 * (RFC 9112 section 9.6): our side is shut, what still comes is read and dropped for a moment. A
 * plain close with unread bytes would be a reset, which may destroy the answer on its way. Their
 * number, time and bytes are bounded. Loop thread only. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"

#define FAREWELL_MAX 512
#define FAREWELL_US 2000000
#define FAREWELL_BYTES ((size_t)1024 * 1024)
#define SWEEP_MS 250

struct leaving {
    struct leaving *prev, *next;
    struct farewells *farewells;
    ev_io readable;
    int64_t until_us;
    size_t dropped;
};

struct farewells {
    struct loop *loop;
    struct loop_timer *sweep;
    struct leaving *first, *last; /* oldest first */
    size_t count;
};

static void end(struct leaving *leaving)
{
    struct farewells *farewells = leaving->farewells;

    ev_io_stop(loop_ev(farewells->loop), &leaving->readable);
    close(leaving->readable.fd);
    *(leaving->prev ? &leaving->prev->next : &farewells->first) = leaving->next;
    *(leaving->next ? &leaving->next->prev : &farewells->last) = leaving->prev;
    farewells->count--;
    free(leaving);
    if (farewells->count == 0) {
        loop_timer_free(farewells->sweep);
        farewells->sweep = NULL;
    }
}

static void on_readable(struct ev_loop *ev, ev_io *watcher, int events)
{
    struct leaving *leaving = watcher->data;
    char bytes[16384];
    ssize_t n = recv(watcher->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)ev;
    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        leaving->dropped += (size_t)n;
    if (n <= 0 || leaving->dropped > FAREWELL_BYTES)
        end(leaving);
}

static void on_sweep(void *argument)
{
    struct farewells *farewells = argument;
    int64_t now = clock_mono_us();

    /* The first one has no `prev`, so that end() moves `first`; clang-tidy cannot see it. */
    while (farewells->first && farewells->first->until_us <= now) /* NOLINT(*-unix.Malloc) */
        end(farewells->first);
}

struct farewells *farewells_new(struct loop *loop)
{
    struct farewells *farewells = mem_alloc(sizeof(*farewells));

    farewells->loop = loop;
    return farewells;
}

void farewells_free(struct farewells *farewells)
{
    if (!farewells)
        return;
    while (farewells->first)
        end(farewells->first); /* NOLINT(*-unix.Malloc): as in on_sweep() */
    free(farewells);
}

void farewell(struct farewells *farewells, int fd, const struct http_answer *answer)
{
    struct leaving *leaving = mem_alloc(sizeof(*leaving));
    size_t len = answer->raw.len;

    /* The socket's buffer is empty or nearly so: an answer that does not fit is not worth waiting
     * for. */
    if (send(fd, answer->raw.data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
        shutdown(fd, SHUT_WR);
    if (farewells->count >= FAREWELL_MAX)
        end(farewells->first);
    leaving->farewells = farewells;
    leaving->until_us = clock_mono_us() + FAREWELL_US;
    leaving->prev = farewells->last;
    *(farewells->last ? &farewells->last->next : &farewells->first) = leaving;
    farewells->last = leaving;
    farewells->count++;
    if (!farewells->sweep)
        farewells->sweep = loop_timer_new(farewells->loop, SWEEP_MS, on_sweep, farewells);
    ev_io_init(&leaving->readable, on_readable, fd, EV_READ);
    leaving->readable.data = leaving;
    ev_io_start(loop_ev(farewells->loop), &leaving->readable);
}
