/* Connections on their way into libmicrohttpd, or out again with a word. Loop thread only. */
#include "http/exchange.h"

void server_on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = cls;
    struct peer *peer = *context;

    (void)connection;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        hangups_forget(server->hangups, peer);
        peers_remove(server->peers, peer);
        *context = NULL;
        return;
    }
    peer = server->arriving; /* this runs within MHD_add_connection() */
    server->arriving = NULL;
    hangups_watch(server->hangups, peer);
    ebb_note(server);
    *context = peer;
}

bool server_has_room_for(const struct http_server *server, const struct sockaddr *address)
{
    size_t limit = server->options.limits.connections_per_address;

    return limit == 0 || peers_from(server->peers, address) < limit;
}

void server_take_socket(struct http_server *server, struct peer *peer,
                        const struct sockaddr *address, socklen_t len)
{
    server->arriving = peer;
    (void)MHD_add_connection(server->daemon, peer->fd, address, len); /* takes it also in failure */
    if (server->arriving)
        peers_remove(server->peers, peer);
    server->arriving = NULL;
}

void server_refuse_socket(struct http_server *server, int fd, enum http_fault fault)
{
    server->options.handler->refused(server->options.argument, NULL, fault);
    farewell(server->farewells, fd, server->options.answers[fault]);
}
