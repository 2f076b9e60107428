/* Connections as a list, and a table of addresses that counts them. The table is seeded by nothing:
 * whoever could crowd one of its rows needs as many addresses as rows. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/exchange.h"

#define ROWS 1024 /* a power of two */

struct source {
    struct source *next;
    struct in6_addr address; /* IPv4 as IPv6 */
    size_t count;
};

struct peers {
    struct peer *first;
    size_t count;
    struct source *rows[ROWS];
};

struct peers *peers_new(void)
{
    return mem_alloc(sizeof(struct peers));
}

void peers_free(struct peers *peers)
{
    free(peers);
}

size_t peers_count(const struct peers *peers)
{
    return peers->count;
}

static bool address_of(const struct sockaddr *from, struct in6_addr *address)
{
    if (from && from->sa_family == AF_INET6) {
        *address = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        return true;
    }
    if (from && from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)from;

        *address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(address->s6_addr + 12, &in->sin_addr, sizeof(in->sin_addr));
        return true;
    }
    return false;
}

/* FNV-1a. */
static size_t row_of(const struct in6_addr *address)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < sizeof(address->s6_addr); i++)
        hash = (hash ^ address->s6_addr[i]) * 16777619U;
    return hash & (ROWS - 1);
}

/* Where the source of an address hangs, or would be hung. */
static struct source **find(struct source **row, const struct in6_addr *address)
{
    while (*row && memcmp(&(*row)->address, address, sizeof(*address)) != 0)
        row = &(*row)->next;
    return row;
}

size_t peers_from(const struct peers *peers, const struct sockaddr *address)
{
    struct in6_addr wanted;

    if (!address_of(address, &wanted))
        return 0;
    for (const struct source *source = peers->rows[row_of(&wanted)]; source; source = source->next)
        if (memcmp(&source->address, &wanted, sizeof(wanted)) == 0)
            return source->count;
    return 0;
}

static void write_address(const struct in6_addr *address, char text[static SOURCE_IP_SIZE])
{
    if (IN6_IS_ADDR_V4MAPPED(address))
        inet_ntop(AF_INET, address->s6_addr + 12, text, SOURCE_IP_SIZE);
    else
        inet_ntop(AF_INET6, address, text, SOURCE_IP_SIZE);
}

struct peer *peers_add(struct peers *peers, int fd, int64_t now_us)
{
    struct peer *peer = mem_alloc(sizeof(*peer));

    peer->fd = fd;
    peer->idle_since_us = now_us;
    peer->next = peers->first;
    if (peer->next)
        peer->next->prev = peer;
    peers->first = peer;
    peers->count++;
    return peer;
}

void peers_name(struct peers *peers, struct peer *peer, const struct sockaddr *address)
{
    struct in6_addr wanted;
    struct source **place;

    if (!address_of(address, &wanted))
        return;
    place = find(&peers->rows[row_of(&wanted)], &wanted);
    if (!*place) {
        *place = mem_alloc(sizeof(**place));
        (*place)->address = wanted;
    }
    peer->source = *place;
    peer->source->count++;
    write_address(&wanted, peer->source_ip);
}

void peers_remove(struct peers *peers, struct peer *peer)
{
    struct source *source = peer->source;

    if (source && --source->count == 0) {
        *find(&peers->rows[row_of(&source->address)], &source->address) = source->next;
        free(source);
    }
    *(peer->prev ? &peer->prev->next : &peers->first) = peer->next;
    if (peer->next)
        peer->next->prev = peer->prev;
    peers->count--;
    free(peer);
}

bool peers_end_idle(struct peers *peers, int64_t limit_us)
{
    bool any = false;

    for (struct peer *peer = peers->first; peer; peer = peer->next) {
        if (peer->exchange || peer->idle_since_us >= limit_us)
            continue;
        shutdown(peer->fd, SHUT_RDWR);
        any = true;
    }
    return any;
}
