/* Listening sockets: bound here, accepted from in bounded bursts so that a flood of connections
 * does not hold the loop, handed to the server. When descriptors run out a spare one is given up
 * for the moment that a refusal takes. Loop thread only. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/exchange.h"

#define BURST 64
#define BACKLOG 4096

struct listener {
    struct listener *next;
    struct http_server *server;
    ev_io acceptable;
    char *unlink_path; /* our socket file, removed at the end */
    bool proxied;
    bool
        inherited; /* others have it too: whoever waits in its queue may wait for the next daemon */
};

/* False: none waits (or none can be had). */
static bool accept_one(struct listener *listener)
{
    struct http_server *server = listener->server;
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int fd = accept4(listener->acceptable.fd, (struct sockaddr *)&address, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && server->spare_fd >= 0) {
        close(server->spare_fd);
        fd = accept4(listener->acceptable.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            server->options.handler->refused(server->options.argument, NULL, HTTP_TOO_MANY);
            (void)!send(fd, server->options.answers[HTTP_TOO_MANY]->raw.data,
                        server->options.answers[HTTP_TOO_MANY]->raw.len,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
            close(fd);
        }
        server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return fd >= 0;
    }
    if (fd < 0) /* the peer may have gone while it waited: the next one may be there */
        return errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
    arrive(server->arrivals, fd, (struct sockaddr *)&address, len, listener->proxied);
    return true;
}

static void on_acceptable(struct ev_loop *ev, ev_io *watcher, int events)
{
    struct listener *listener = watcher->data;

    (void)ev;
    (void)events;
    for (int i = 0; i < BURST && accept_one(listener); i++)
        ;
}

static struct listener *add(struct http_server *server, int fd, bool proxied,
                            const char *unlink_path)
{
    struct listener *listener = mem_alloc(sizeof(*listener));

    listener->server = server;
    listener->proxied = proxied;
    listener->unlink_path = unlink_path ? mem_copy(str_from(unlink_path)) : NULL;
    ev_io_init(&listener->acceptable, on_acceptable, fd, EV_READ);
    listener->acceptable.data = listener;
    listener->next = server->listeners;
    server->listeners = listener;
    return listener;
}

void listeners_start(struct http_server *server)
{
    for (struct listener *listener = server->listeners; listener; listener = listener->next)
        ev_io_start(loop_ev(server->loop), &listener->acceptable);
}

void listeners_close(struct http_server *server)
{
    struct listener *listener;

    while ((listener = server->listeners)) {
        server->listeners = listener->next;
        if (ev_is_active(&listener->acceptable)) {
            ev_io_stop(loop_ev(server->loop), &listener->acceptable);
            while (!listener->inherited && accept_one(listener))
                ;
        }
        close(listener->acceptable.fd);
        if (listener->unlink_path)
            unlink(listener->unlink_path);
        free(listener->unlink_path);
        free(listener);
    }
}

/* Addresses as they are written in the configuration. */
static void name_of(int fd, char name[static HTTP_NAME_SIZE])
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN], port[8];

    memset(&address, 0, sizeof(address));
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        snprintf(name, HTTP_NAME_SIZE, "fd:%d", fd);
    else if (address.ss_family == AF_UNIX)
        snprintf(name, HTTP_NAME_SIZE, "unix:%s", ((struct sockaddr_un *)&address)->sun_path);
    else if (getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
                         NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(name, HTTP_NAME_SIZE, "fd:%d", fd);
    else
        snprintf(name, HTTP_NAME_SIZE, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                 port);
}

int http_server_listen_tcp(struct http_server *server, struct str host, uint16_t port, bool proxied,
                           char name[static HTTP_NAME_SIZE], struct err *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host_text[INET6_ADDRSTRLEN + 8], port_text[8];
    const int on = 1;
    int fd = -1;

    snprintf(host_text, sizeof(host_text), "%.*s", STR_ARG(host));
    snprintf(port_text, sizeof(port_text), "%u", (unsigned)port);
    if (getaddrinfo(host_text, port_text, &hints, &found) != 0)
        return err_set(err, ERR_NEVER, "cannot listen on %s:%s: not a numeric address", host_text,
                       port_text);
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        goto fail;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* accepted sockets inherit it */
    if (found->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        goto fail;
    freeaddrinfo(found);
    add(server, fd, proxied, NULL);
    name_of(fd, name);
    return 0;
fail:
    err_set(err, ERR_NEVER, "could not listen on %s:%s: %m", host_text, port_text);
    freeaddrinfo(found);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether a socket file is there that nobody listens on. */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat status;
    bool stale = false;
    int fd;

    if (lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        stale = errno == ECONNREFUSED;
    close(fd);
    return stale;
}

int http_server_listen_unix(struct http_server *server, const struct http_unix *where,
                            char name[static HTTP_NAME_SIZE], struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct str path = where->path;
    int fd = -1;

    if (path.len >= sizeof(address.sun_path))
        return err_set(err, ERR_NEVER, "cannot listen on unix:%.*s: longer than %zu characters",
                       STR_ARG(path), sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path.ptr, path.len);
    if (is_stale(&address))
        unlink(address.sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        goto fail;
    /* Whoever may enter the folder and whom the mode lets in may connect. */
    if (chown(address.sun_path, where->owner, where->group) < 0 ||
        chmod(address.sun_path, where->mode) < 0 || listen(fd, BACKLOG) < 0)
        goto fail;
    add(server, fd, where->proxied, address.sun_path);
    name_of(fd, name);
    return 0;
fail:
    err_set(err, ERR_NEVER, "could not listen on unix:%s: %m", address.sun_path);
    if (fd >= 0)
        close(fd);
    return -1;
}

void http_server_listen_fd(struct http_server *server, int fd, bool proxied,
                           char name[static HTTP_NAME_SIZE])
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    add(server, fd, proxied, NULL)->inherited = true;
    name_of(fd, name);
}
