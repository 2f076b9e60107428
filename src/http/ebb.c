/* After a flood. The heap keeps what was freed, up to 16 MiB (base/process.c), because load comes
 * in bursts and fetching memory anew is dear. So when much less has been held for a while than at
 * the last high water, and only then, what is free goes back to the system. */
#include "base/process.h"
#include "http/exchange.h"

/* What must have been given up, in bytes, for how many looks on end. */
#define FALL ((size_t)2 * 1024 * 1024)
#define LOOKS 3
/* With a request a connection takes its pool for the header, our copy of that, our records and
 * the library's: no more than twice the header and this. */
#define CONNECTION_BESIDES ((size_t)8192)

static size_t level(const struct http_server *server)
{
    return server->buffered +
           peers_count(server->peers) * (2 * server->options.limits.header + CONNECTION_BESIDES);
}

void ebb_note(struct http_server *server)
{
    size_t now = level(server);

    if (now > server->high_water)
        server->high_water = now;
}

void ebb_look(struct http_server *server)
{
    size_t now = level(server);

    if (now + FALL > server->high_water) {
        server->low_looks = 0;
        return;
    }
    if (++server->low_looks < LOOKS)
        return;
    server->low_looks = 0;
    server->high_water = now;
    process_give_back();
}
