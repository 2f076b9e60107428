/* libmicrohttpd without threads of its own, driven by libev: its epoll descriptor is watched, and
 * before each wait it is asked for its timeout, which must be honoured also when it is 0 (its
 * sockets are edge-triggered). A resumed connection does not wake it: whoever resumes sets `wake`,
 * and the library runs once per turn for all of them, from the prepare watcher. Loop thread only.
 */
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/exchange.h"

/* Runs in one turn while the library has more to do. */
#define RUNS_MAX 8
#define SWEEP_MS 1000
/* The library closes without a word what we have not answered by then. */
#define SILENT_CLOSE_S 3
/* How long the last answers may take on their way when the server is to end. */
#define ANSWER_US 1000000

static void run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;

    server->wake = false;
    for (int i = 0; i < RUNS_MAX; i++) {
        MHD_run(server->daemon);
        if (MHD_get_timeout(server->daemon, &ms) != MHD_YES || ms > 0)
            break;
    }
}

static void on_ready(struct ev_loop *ev, ev_io *watcher, int events)
{
    (void)ev;
    (void)events;
    run(watcher->data);
}

static void on_timeout(struct ev_loop *ev, ev_timer *watcher, int events)
{
    (void)ev;
    (void)events;
    run(watcher->data);
}

static void on_prepare(struct ev_loop *ev, ev_prepare *watcher, int events)
{
    struct http_server *server = watcher->data;
    MHD_UNSIGNED_LONG_LONG ms;

    (void)events;
    if (server->wake)
        run(server);
    if (MHD_get_timeout(server->daemon, &ms) == MHD_YES) {
        server->timeout.repeat = ms > 0 ? (double)ms / 1000.0 : 1e-6;
        ev_timer_again(ev, &server->timeout);
    } else {
        ev_timer_stop(ev, &server->timeout);
    }
}

/* ---- requests that do not get on ---- */

/* Makes the library see the end of the connection. */
static void hang_up(struct exchange *exchange)
{
    exchange->state = EXCHANGE_CUT;
    if (exchange->peer)
        shutdown(exchange->peer->fd, SHUT_RDWR);
    exchange->server->wake = true;
}

/* Whether the library answers, with its own answer or ours. Its own it tells nobody of. */
static bool being_answered(const struct exchange *exchange)
{
    return MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_HTTP_STATUS) != NULL;
}

/* Answers past the library and ends the connection. */
static void cut(struct exchange *exchange, enum http_fault fault)
{
    struct http_server *server = exchange->server;

    if (!being_answered(exchange)) {
        server->options.handler->refused(server->options.argument, &exchange->request, fault);
        exchange_cut(exchange, server->options.answers[fault]);
    }
    hang_up(exchange);
}

static bool is_too_slow(const struct exchange *exchange, int64_t now_us)
{
    const struct http_limits *limits = &exchange->server->options.limits;
    int64_t body_us = now_us - exchange->head_us, rated_s;

    if (now_us - exchange->touched_us > limits->idle_timeout_ms * 1000)
        return true;
    if (exchange->state == EXCHANGE_STARTED)
        return now_us - exchange->begun_us > limits->header_timeout_ms * 1000;
    rated_s = body_us / 1000000 - HTTP_RATE_GRACE_S;
    return body_us > limits->body_timeout_ms * 1000 ||
           (rated_s > 0 && (int64_t)exchange->received < rated_s * limits->body_rate);
}

static void on_sweep(void *argument)
{
    struct http_server *server = argument;
    int64_t now_us = clock_mono_us();

    for (struct exchange *exchange = server->first; exchange; exchange = exchange->next)
        if (exchange_is_received(exchange) && is_too_slow(exchange, now_us))
            cut(exchange, HTTP_TOO_SLOW);
    arrivals_sweep(server->arrivals, now_us);
    if (peers_end_idle(server->peers, now_us - server->options.limits.idle_timeout_ms * 1000))
        server->wake = true;
    ebb_look(server);
}

/* Its sender has been given the time to read the answer and does not. */
static bool is_deaf(const struct exchange *exchange, int64_t now_us)
{
    return exchange->state == EXCHANGE_ANSWERED && now_us - exchange->touched_us > ANSWER_US;
}

void http_server_cut(struct http_server *server)
{
    int64_t now_us = clock_mono_us();

    for (struct exchange *exchange = server->first; exchange; exchange = exchange->next)
        if (exchange_is_received(exchange))
            cut(exchange, HTTP_TOO_MANY);
        else if (is_deaf(exchange, now_us))
            hang_up(exchange);
    arrivals_cut(server->arrivals);
}

/* ---- life ---- */

struct http_server *http_server_new(const struct http_server_options *options, struct err *err)
{
    struct http_server *server = mem_alloc(sizeof(*server));
    const union MHD_DaemonInfo *info;
    unsigned idle_s = (unsigned)((options->limits.idle_timeout_ms + 999) / 1000) + SILENT_CLOSE_S;

    server->loop = options->loop;
    server->options = *options;
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    server->peers = peers_new();
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
        exchange_continue, server, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)options->limits.connections + 1, MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->limits.header, MHD_OPTION_URI_LOG_CALLBACK,
        exchange_begin, server, MHD_OPTION_NOTIFY_COMPLETED, exchange_end, server,
        MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, server, MHD_OPTION_END);
    info = server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    server->hangups = info ? hangups_new(server) : NULL;
    if (!server->hangups) {
        err_set(err, ERR_NEVER, "could not start the HTTP library: %m");
        if (server->daemon)
            MHD_stop_daemon(server->daemon);
        if (server->spare_fd >= 0)
            close(server->spare_fd);
        peers_free(server->peers);
        free(server);
        return NULL;
    }
    server->farewells = farewells_new(server->loop);
    server->arrivals = arrivals_new(server);
    server->sweep = loop_timer_new(server->loop, SWEEP_MS, on_sweep, server);
    ev_io_init(&server->ready, on_ready, info->epoll_fd, EV_READ);
    ev_prepare_init(&server->prepare, on_prepare);
    ev_timer_init(&server->timeout, on_timeout, 0., 0.);
    server->ready.data = server->prepare.data = server->timeout.data = server;
    ev_io_start(loop_ev(server->loop), &server->ready);
    ev_prepare_start(loop_ev(server->loop), &server->prepare);
    return server;
}

void http_server_start(struct http_server *server)
{
    listeners_start(server);
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
    listeners_close(server);
    arrivals_look(server->arrivals);
}

size_t http_server_open(const struct http_server *server)
{
    return server->open + arrivals_begun(server->arrivals);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    listeners_close(server);
    ev_io_stop(loop_ev(server->loop), &server->ready);
    ev_prepare_stop(loop_ev(server->loop), &server->prepare);
    ev_timer_stop(loop_ev(server->loop), &server->timeout);
    loop_timer_free(server->sweep);
    arrivals_free(server->arrivals);
    /* Stopping the library with suspended connections is undefined. */
    for (struct exchange *exchange = server->first; exchange; exchange = exchange->next)
        if (exchange->state == EXCHANGE_PARKED)
            MHD_resume_connection(exchange->connection);
    MHD_stop_daemon(server->daemon);
    hangups_free(server->hangups);
    farewells_free(server->farewells);
    peers_free(server->peers);
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    free(server);
}
