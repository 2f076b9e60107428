/* UTF-8 sequences, by the table of RFC 3629 section 4. */
#include "base/utf8.h"

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

size_t utf8_sequence(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    unsigned char low = 0x80, high = 0xbf;
    size_t len;

    if (s.len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (between(p[0], 0xc2, 0xdf))
        len = 2;
    else if (between(p[0], 0xe0, 0xef))
        len = 3;
    else if (between(p[0], 0xf0, 0xf4))
        len = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (s.len < len || !between(p[1], low, high))
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!between(p[i], 0x80, 0xbf))
            return 0;
    return len;
}

bool utf8_valid(struct str s)
{
    while (s.len > 0) {
        size_t len = utf8_sequence(s);

        if (len == 0)
            return false;
        s.ptr += len;
        s.len -= len;
    }
    return true;
}

struct str utf8_cut(struct str s, size_t max)
{
    if (s.len <= max)
        return s;
    while (max > 0 && ((unsigned char)s.ptr[max] & 0xc0) == 0x80)
        max--;
    return (struct str){s.ptr, max};
}
