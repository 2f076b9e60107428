/* Network addresses as a front end needs them: read strictly, compared as bytes, written one way.
 * IPv4 and IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2) are one and the same. Pure functions, any
 * thread. */
#ifndef CORE_ADDRESS_H
#define CORE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define ADDRESS_TEXT_SIZE 46 /* INET6_ADDRSTRLEN */

struct address {
    unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
};

/* A numeric IPv4 or IPv6 address without brackets, port or zone. False: it is none. */
bool address_read(struct str text, struct address *address);

/* The same as a proxy writes it: also "1.2.3.4:80", "[2001:db8::1]" and "[2001:db8::1]:80"
 * (RFC 7239 section 6). False for everything else, such as "unknown" and "_hidden". */
bool address_read_node(struct str text, struct address *address);

/* IPv4 in dots, IPv6 in the short form (RFC 5952). */
void address_write(const struct address *address, char text[static ADDRESS_TEXT_SIZE]);

/* A network in CIDR notation, or one address. */
struct network {
    struct address address;
    int bits; /* of the sixteen bytes that count */
};

/* "10.0.0.0/8", "2001:db8::/32", "192.0.2.1". A network with bits set behind its prefix is refused,
 * since it was meant otherwise. */
int network_read(struct str text, struct network *network, struct err *err) MUST_CHECK;

bool network_has(const struct network *network, const struct address *address);
bool networks_have(const struct network *networks, size_t count, const struct address *address);

#endif
