/* The judgement on framing. The rules are stricter than RFC 9112 asks for where a proxy in front
 * would not produce such a request anyway: the price of being wrong is a second request made from
 * body bytes. */
#include "http/framing.h"

#include "http/request.h"

#define FOLD_DISTANCE 64 * 1024

/* Digits only; -1 where it is anything else or too large. */
static int64_t read_length(struct str text)
{
    int64_t value = 0;

    if (text.len == 0 || text.len > 18)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        value = value * 10 + (text.ptr[i] - '0');
    }
    return value;
}

static bool has_blank(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] <= ' ')
            return true;
    return name.len == 0;
}

struct http_framing http_framing_read(const struct http_header *headers, size_t count, bool old)
{
    struct http_framing framing = {.length = -1};
    struct str length = STR_NONE;

    for (size_t i = 0; i < count; i++) {
        struct str name = headers[i].name, value = headers[i].value;

        if (has_blank(name))
            framing.ambiguous = true;
        if (str_equal_nocase(name, STR("content-length"))) {
            if (length.ptr && !str_equal(length, value))
                framing.ambiguous = true;
            length = value;
            framing.length = read_length(value);
            if (framing.length < 0)
                framing.ambiguous = true;
        } else if (str_equal_nocase(name, STR("transfer-encoding"))) {
            if (framing.chunked || old || !str_equal_nocase(value, STR("chunked")))
                framing.ambiguous = true;
            framing.chunked = true;
        } else if (str_equal_nocase(name, STR("expect")) && !old) {
            framing.expect = str_equal_nocase(value, STR("100-continue"));
        }
    }
    if (length.ptr && framing.chunked)
        framing.ambiguous = true;
    return framing;
}

bool http_framing_in_place(struct str name, struct str value)
{
    const char *p = name.ptr + name.len + 1;

    if (value.ptr < p || value.ptr - p > FOLD_DISTANCE)
        return false;
    for (; p < value.ptr; p++)
        if (*p != ' ' && *p != '\t')
            return false;
    return true;
}
