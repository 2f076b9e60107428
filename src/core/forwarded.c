/* Two syntaxes, one walk: each header's last line first, each line's last element first. */
#include "core/forwarded.h"

#include <string.h>

#define HOPS_MAX 32  /* a longer way than that is made up */
#define PAIRS_MAX 16 /* parameters of one hop */

/* The text of one element, or false where it says nothing about the sender. */
typedef bool read_element(struct str element, struct address *address);

static bool read_plain(struct str element, struct address *address)
{
    return address_read_node(element, address);
}

/* Whether position i of the text is inside of a quoted string. */
static bool is_quoted(struct str text, size_t i)
{
    bool quoted = false;

    for (size_t at = 0; at < i; at++) {
        if (quoted && text.ptr[at] == '\\')
            at++;
        else if (text.ptr[at] == '"')
            quoted = !quoted;
    }
    return quoted;
}

/* Takes the last part, cut at `separator` outside of quotes, off a list; false when none is left.
 */
static bool take_last(struct str *list, char separator, struct str *part)
{
    if (!list->ptr)
        return false;
    for (size_t i = list->len; i > 0; i--) {
        if (list->ptr[i - 1] != separator || is_quoted(*list, i - 1))
            continue;
        *part = str_trim((struct str){list->ptr + i, list->len - i});
        list->len = i - 1;
        return true;
    }
    *part = str_trim(*list);
    *list = STR_NONE;
    return true;
}

/* for=192.0.2.1;proto=https, for="[2001:db8::1]:80" (RFC 7239 section 4). Names are compared
 * without case, and a parameter comes once. */
static bool read_forwarded(struct str element, struct address *address)
{
    struct str pair, value = STR_NONE;
    int pairs = 0;

    while (take_last(&element, ';', &pair)) {
        if (++pairs > PAIRS_MAX)
            return false;
        if (pair.len < 4 || !str_equal_nocase((struct str){pair.ptr, 4}, STR("for=")))
            continue;
        if (value.ptr)
            return false;
        value = (struct str){pair.ptr + 4, pair.len - 4};
    }
    if (!value.ptr)
        return false;
    if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
        value = (struct str){value.ptr + 1, value.len - 2};
    return address_read_node(value, address);
}

/* Walks one header. FORWARDED_UNKNOWN: it is not there. All of it trusted: the leftmost is the
 * sender. */
static enum forwarded walk(const struct forwarding *forwarding, const struct request *request,
                           struct str name, read_element *read, struct address *sender)
{
    enum forwarded result = FORWARDED_UNKNOWN;
    int hops = 0;

    for (size_t i = request->header_count; i > 0; i--) {
        struct str rest = request->headers[i - 1].value, element;

        if (!str_equal_nocase(request->headers[i - 1].name, name))
            continue;
        while (take_last(&rest, ',', &element)) {
            if (++hops > HOPS_MAX || !read(element, sender))
                return FORWARDED_UNREADABLE;
            result = FORWARDED_KNOWN;
            if (!networks_have(forwarding->trusted, forwarding->trusted_count, sender))
                return FORWARDED_KNOWN;
        }
    }
    return result;
}

enum forwarded forwarded_sender(const struct forwarding *forwarding, const struct address *peer,
                                const struct request *request, struct address *sender)
{
    bool trusted = peer ? networks_have(forwarding->trusted, forwarding->trusted_count, peer)
                        : forwarding->trusts_unix;
    enum forwarded first = FORWARDED_UNKNOWN, second = FORWARDED_UNKNOWN;
    struct address other;

    if (trusted) {
        first = walk(forwarding, request, STR("x-forwarded-for"), read_plain, sender);
        second = walk(forwarding, request, STR("forwarded"), read_forwarded, &other);
    }
    if (first == FORWARDED_UNREADABLE || second == FORWARDED_UNREADABLE)
        return FORWARDED_UNREADABLE;
    if (first == FORWARDED_KNOWN && second == FORWARDED_KNOWN)
        return memcmp(sender, &other, sizeof(other)) == 0 ? FORWARDED_KNOWN : FORWARDED_UNREADABLE;
    if (second == FORWARDED_KNOWN)
        *sender = other;
    if (first == FORWARDED_KNOWN || second == FORWARDED_KNOWN)
        return FORWARDED_KNOWN;
    if (!peer)
        return FORWARDED_UNKNOWN;
    *sender = *peer;
    return FORWARDED_KNOWN;
}
