/* Reading is inet_pton's, which takes neither leading zeros nor fewer than four numbers; what
 * stands around an address (brackets, a port) is taken off here. */
#include "core/address.h"

#include <arpa/inet.h>
#include <string.h>

#define IPV4_OFFSET 12
#define IPV4_BITS_OFFSET 96

static const unsigned char mapped[IPV4_OFFSET] = {[10] = 0xff, [11] = 0xff};

static bool is_ipv4(const struct address *address)
{
    return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

bool address_read(struct str text, struct address *address)
{
    char copy[ADDRESS_TEXT_SIZE];

    if (!text.ptr || text.len == 0 || text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (strchr(copy, ':'))
        return inet_pton(AF_INET6, copy, address->bytes) == 1;
    memcpy(address->bytes, mapped, sizeof(mapped));
    return inet_pton(AF_INET, copy, address->bytes + IPV4_OFFSET) == 1;
}

static bool is_port(struct str text)
{
    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return true;
}

bool address_read_node(struct str text, struct address *address)
{
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL, *close;
    struct str inner = text, rest = STR_NONE;

    if (text.len > 0 && text.ptr[0] == '[') {
        close = memchr(text.ptr, ']', text.len);
        if (!close)
            return false;
        inner = (struct str){text.ptr + 1, (size_t)(close - text.ptr - 1)};
        rest = (struct str){close + 1, text.len - inner.len - 2};
        if (!memchr(inner.ptr, ':', inner.len)) /* brackets are for IPv6 */
            return false;
    } else if (colon && !memchr(colon + 1, ':', text.len - (size_t)(colon + 1 - text.ptr))) {
        inner.len = (size_t)(colon - text.ptr);
        rest = (struct str){colon, text.len - inner.len};
    }
    if (rest.len > 0 && (rest.ptr[0] != ':' || !is_port((struct str){rest.ptr + 1, rest.len - 1})))
        return false;
    return address_read(inner, address);
}

void address_write(const struct address *address, char text[static ADDRESS_TEXT_SIZE])
{
    if (is_ipv4(address))
        inet_ntop(AF_INET, address->bytes + IPV4_OFFSET, text, ADDRESS_TEXT_SIZE);
    else
        inet_ntop(AF_INET6, address->bytes, text, ADDRESS_TEXT_SIZE);
}

static bool bit(const struct address *address, int i)
{
    return address->bytes[i / 8] & (0x80 >> i % 8);
}

static bool read_bits(struct str text, int most, int *bits)
{
    *bits = 0;
    if (text.len == 0 || text.len > 3)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        *bits = *bits * 10 + (text.ptr[i] - '0');
    }
    return *bits <= most;
}

int network_read(struct str text, struct network *network, struct err *err)
{
    const char *slash = text.ptr ? memchr(text.ptr, '/', text.len) : NULL;
    struct str address = {text.ptr, slash ? (size_t)(slash - text.ptr) : text.len};
    bool ipv4 = address.ptr && !memchr(address.ptr, ':', address.len);
    int most = ipv4 ? 32 : 128, bits = most;

    if (!address_read(address, &network->address))
        return err_set(err, ERR_INPUT,
                       "\"%.*s\" is no network; write an address such as 192.0.2.1 or 2001:db8::1, "
                       "or a network such as 10.0.0.0/8",
                       STR_ARG(text));
    if (slash && !read_bits((struct str){slash + 1, text.len - address.len - 1}, most, &bits))
        return err_set(err, ERR_INPUT,
                       "\"%.*s\" is no network; after the / comes a number from 0 to %d",
                       STR_ARG(text), most);
    network->bits = bits + (ipv4 ? IPV4_BITS_OFFSET : 0);
    for (int i = network->bits; i < 128; i++)
        if (bit(&network->address, i))
            return err_set(err, ERR_INPUT,
                           "\"%.*s\" has bits set behind its first %d; write the network's first "
                           "address, or a longer prefix",
                           STR_ARG(text), bits);
    return 0;
}

bool network_has(const struct network *network, const struct address *address)
{
    int whole = network->bits / 8, rest = network->bits % 8;

    if (memcmp(network->address.bytes, address->bytes, (size_t)whole) != 0)
        return false;
    return rest == 0 ||
           ((network->address.bytes[whole] ^ address->bytes[whole]) & (0xff00 >> rest) & 0xff) == 0;
}

bool networks_have(const struct network *networks, size_t count, const struct address *address)
{
    for (size_t i = 0; i < count; i++)
        if (network_has(&networks[i], address))
            return true;
    return false;
}
