/* Headers into jsonb. jsonb holds no NUL, and a terminal no control characters: both become U+FFFD.
 */
#include "provider/headers.h"

#include "base/attr.h"
#include "base/utf8.h"

/* A received signature is no secret; a received token is. */
static const char *const secret_names[] = {
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-gitlab-token",
    "x-telegram-bot-api-secret-token",
    "x-webhook-token",
    "x-api-key",
    "x-auth-token",
    "x-hook-secret",
    "x-verification-token",
};

bool header_is_secret(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
        if (str_equal_nocase(name, str_from(secret_names[i])))
            return true;
    return false;
}

static void put_safe(struct buf *out, struct str s, bool lower)
{
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_sequence((struct str){s.ptr + i, s.len - i});
        unsigned char c = (unsigned char)s.ptr[i];

        if (len == 0 || (c < 0x20 && c != '\t') || c == 0x7f)
            buf_put(out, "\xef\xbf\xbd", 3);
        else if (c == '"' || c == '\\')
            buf_put(out, (char[]){'\\', (char)c}, 2);
        else if (c == '\t')
            buf_put(out, "\\t", 2);
        else if (lower && c >= 'A' && c <= 'Z')
            buf_put_char(out, (char)(c + ('a' - 'A')));
        else
            buf_put(out, s.ptr + i, len);
        i += len ? len : 1;
    }
}

static bool named_before(const struct request *request, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (str_equal_nocase(request->headers[j].name, request->headers[i].name))
            return true;
    return false;
}

static void put_values(const struct request *request, size_t first, struct buf *out)
{
    struct str name = request->headers[first].name;

    if (header_is_secret(name)) {
        buf_put_str(out, STR("[redacted]"));
        return;
    }
    for (size_t i = first; i < request->header_count; i++) {
        if (i > first && !str_equal_nocase(request->headers[i].name, name))
            continue;
        if (i > first)
            buf_put(out, ", ", 2);
        put_safe(out, request->headers[i].value, false);
    }
}

void headers_put_json(const struct request *request, struct buf *out)
{
    buf_put_char(out, '{');
    for (size_t i = 0; i < request->header_count; i++) {
        if (named_before(request, i))
            continue;
        if (out->data[out->len - 1] != '{')
            buf_put_char(out, ',');
        buf_put_char(out, '"');
        put_safe(out, request->headers[i].name, true);
        buf_put(out, "\":\"", 3);
        put_values(request, i, out);
        buf_put_char(out, '"');
    }
    buf_put_char(out, '}');
}
