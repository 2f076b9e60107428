/* The header that a proxy of the PROXY protocol (HAProxy's specification of 2020, versions 1 and 2)
 * sends before everything else: whom it speaks for. Pure, any thread. */
#ifndef HTTP_PROXY_HEADER_H
#define HTTP_PROXY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/str.h"

#define PROXY_HEADER_MAX 1024 /* bytes; one that is longer is refused */

enum proxy_header { PROXY_HEADER_BAD, PROXY_HEADER_PART, PROXY_HEADER_WHOLE };

struct proxied {
    size_t len; /* of the header */
    bool known; /* false: the proxy speaks for itself (LOCAL), or does not say (UNKNOWN) */
    struct sockaddr_storage address; /* of the sender */
    socklen_t address_len;
};

/* `bytes`: what has come so far. *proxied is set where the header is whole. */
enum proxy_header proxy_header_read(struct str bytes, struct proxied *proxied);

#endif
