#include "http/proxy_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#define V1_MAX 107 /* with CR LF */
#define V2_START 16
#define ADDRESS_MAX 40

static const char v2_signature[12] = "\r\n\r\n\0\r\nQUIT\n";

/* ---- addresses ---- */

static void put_ipv4(struct proxied *proxied, const void *address, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = port};

    memcpy(&in.sin_addr, address, sizeof(in.sin_addr));
    memcpy(&proxied->address, &in, sizeof(in));
    proxied->address_len = sizeof(in);
    proxied->known = true;
}

static void put_ipv6(struct proxied *proxied, const void *address, uint16_t port)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = port};

    memcpy(&in6.sin6_addr, address, sizeof(in6.sin6_addr));
    memcpy(&proxied->address, &in6, sizeof(in6));
    proxied->address_len = sizeof(in6);
    proxied->known = true;
}

/* ---- version 1: a line ---- */

/* Up to the next blank, which has to be there. */
static bool take_field(struct str *line, struct str *field)
{
    const char *blank = line->len ? memchr(line->ptr, ' ', line->len) : NULL;

    if (!blank || blank == line->ptr)
        return false;
    *field = (struct str){line->ptr, (size_t)(blank - line->ptr)};
    line->len -= field->len + 1;
    line->ptr = blank + 1;
    return true;
}

static bool read_port(struct str text, uint16_t *port)
{
    unsigned number = 0;

    if (text.len == 0 || text.len > 5 || (text.len > 1 && text.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        number = number * 10 + (unsigned)(text.ptr[i] - '0');
    }
    *port = htons((uint16_t)number);
    return number <= UINT16_MAX;
}

static bool read_address(int family, struct str text, void *binary)
{
    char copy[ADDRESS_MAX];

    if (text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return inet_pton(family, copy, binary) == 1;
}

/* "TCP4 SENDER US PORT PORT" */
static bool read_line(struct str line, struct proxied *proxied)
{
    struct str protocol, from, to, from_port;
    unsigned char sender[16], us[16];
    uint16_t port, our_port;
    int family;

    if (!take_field(&line, &protocol) || !take_field(&line, &from) || !take_field(&line, &to) ||
        !take_field(&line, &from_port))
        return false;
    if (!str_is(protocol, "TCP4") && !str_is(protocol, "TCP6"))
        return false;
    family = str_is(protocol, "TCP4") ? AF_INET : AF_INET6;
    if (!read_address(family, from, sender) || !read_address(family, to, us) ||
        !read_port(from_port, &port) || !read_port(line, &our_port))
        return false;
    if (family == AF_INET)
        put_ipv4(proxied, sender, port);
    else
        put_ipv6(proxied, sender, port);
    return true;
}

static enum proxy_header read_v1(struct str bytes, struct proxied *proxied)
{
    struct str start = STR("PROXY "), unknown = STR("UNKNOWN");
    size_t longest = bytes.len < V1_MAX ? bytes.len : V1_MAX;
    const char *end = memchr(bytes.ptr, '\n', longest);
    struct str line;

    if (!end)
        return longest == V1_MAX ? PROXY_HEADER_BAD : PROXY_HEADER_PART;
    line = (struct str){bytes.ptr + start.len, (size_t)(end - bytes.ptr) - start.len};
    if ((size_t)(end - bytes.ptr) <= start.len || line.ptr[line.len - 1] != '\r')
        return PROXY_HEADER_BAD;
    line.len--;
    proxied->len = (size_t)(end - bytes.ptr) + 1;
    if (str_starts(line, unknown) && (line.len == unknown.len || line.ptr[unknown.len] == ' '))
        return PROXY_HEADER_WHOLE;
    return read_line(line, proxied) ? PROXY_HEADER_WHOLE : PROXY_HEADER_BAD;
}

/* ---- version 2: binary ---- */

static uint16_t word_at(const unsigned char *bytes)
{
    uint16_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static enum proxy_header read_v2(struct str bytes, struct proxied *proxied)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    size_t len;

    if (bytes.len < V2_START)
        return PROXY_HEADER_PART;
    len = ntohs(word_at(at + 14));
    if (at[12] >> 4 != 2 || (at[12] & 15) > 1 || V2_START + len > PROXY_HEADER_MAX)
        return PROXY_HEADER_BAD;
    if (bytes.len < V2_START + len)
        return PROXY_HEADER_PART;
    proxied->len = V2_START + len;
    if ((at[12] & 15) == 0) /* LOCAL: the proxy itself, to see whether we live */
        return PROXY_HEADER_WHOLE;
    switch (at[13]) {
    case 0x11: /* TCP over IPv4 */
        if (len < 12)
            return PROXY_HEADER_BAD;
        put_ipv4(proxied, at + V2_START, word_at(at + V2_START + 8));
        break;
    case 0x21: /* TCP over IPv6 */
        if (len < 36)
            return PROXY_HEADER_BAD;
        put_ipv6(proxied, at + V2_START, word_at(at + V2_START + 32));
        break;
    case 0x00: /* unspecified */
    case 0x31: /* a Unix socket, which has no address to judge by */
        break;
    default:
        return PROXY_HEADER_BAD;
    }
    return PROXY_HEADER_WHOLE;
}

enum proxy_header proxy_header_read(struct str bytes, struct proxied *proxied)
{
    struct str v1 = STR("PROXY "), v2 = {v2_signature, sizeof(v2_signature)};
    struct str first = {bytes.ptr, bytes.len < v1.len ? bytes.len : v1.len};
    struct str twelve = {bytes.ptr, bytes.len < v2.len ? bytes.len : v2.len};

    *proxied = (struct proxied){0};
    if (bytes.len == 0)
        return PROXY_HEADER_PART;
    if (str_starts(v1, first))
        return first.len < v1.len ? PROXY_HEADER_PART : read_v1(bytes, proxied);
    if (str_starts(v2, twelve))
        return twelve.len < v2.len ? PROXY_HEADER_PART : read_v2(bytes, proxied);
    return PROXY_HEADER_BAD;
}
