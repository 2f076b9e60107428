/* The judgement on framing. The rules are stricter than RFC 9112 asks for where a proxy in front
 * would not produce such a request anyway: the price of being wrong is a second request made from
 * body bytes. */
#include "http/framing.h"

#include "http/request.h"

#define FOLD_DISTANCE (64 * 1024)

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

struct http_framing http_framing_begin(bool old)
{
    return (struct http_framing){.length = -1, .old = old, .length_text = STR_NONE};
}

static void take_length(struct http_framing *framing, struct str value)
{
    if (framing->length_text.ptr && !str_equal(framing->length_text, value))
        framing->ambiguous = true;
    framing->length_text = value;
    framing->length = read_length(value);
    if (framing->length < 0)
        framing->ambiguous = true;
}

static void take_coding(struct http_framing *framing, struct str value)
{
    if (framing->chunked || framing->old || !str_equal_nocase(value, STR("chunked")))
        framing->ambiguous = true;
    framing->chunked = true;
}

void http_framing_field(struct http_framing *framing, struct str name, struct str value)
{
    if (has_blank(name))
        framing->ambiguous = true;
    if (str_equal_nocase(name, STR("content-length")))
        take_length(framing, value);
    else if (str_equal_nocase(name, STR("transfer-encoding")))
        take_coding(framing, value);
    else if (str_equal_nocase(name, STR("expect")) && !framing->old)
        framing->expect = str_equal_nocase(value, STR("100-continue"));
    if (framing->length_text.ptr && framing->chunked)
        framing->ambiguous = true;
}

struct http_framing http_framing_read(const struct http_header *headers, size_t count, bool old)
{
    struct http_framing framing = http_framing_begin(old);

    for (size_t i = 0; i < count; i++)
        http_framing_field(&framing, headers[i].name, headers[i].value);
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

bool http_framing_adjacent(struct str first, struct str second)
{
    const char *p = first.ptr + first.len;

    if (second.ptr <= p || second.ptr - p > FOLD_DISTANCE)
        return false;
    for (; p < second.ptr; p++)
        if (*p != '\0' && *p != ' ' && *p != '\t')
            return false;
    return true;
}
