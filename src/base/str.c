/* Borrowed byte runs: the parts that are not worth inlining. Pure functions, any thread. */
#include "base/str.h"

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

bool str_equal_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower((unsigned char)a.ptr[i]) != lower((unsigned char)b.ptr[i]))
            return false;
    return true;
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

struct str str_take_part(struct str *rest, char separator)
{
    const char *stop = rest->len > 0 ? memchr(rest->ptr, separator, rest->len) : NULL;
    struct str part = {rest->ptr, stop ? (size_t)(stop - rest->ptr) : rest->len};

    *rest = stop ? (struct str){stop + 1, rest->len - part.len - 1} : STR("");
    return str_trim(part);
}

size_t str_count_parts(struct str s, char separator)
{
    size_t count = 1;

    for (size_t i = 0; i < s.len; i++)
        count += s.ptr[i] == separator;
    return count;
}
