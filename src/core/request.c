/* Looking things up in a request. Linear: requests have a dozen headers. */
#include "core/request.h"

size_t request_header(const struct request *request, struct str name, struct str *value)
{
    size_t found = 0;

    for (size_t i = 0; i < request->header_count; i++)
        if (str_equal_nocase(request->headers[i].name, name) && found++ == 0)
            *value = request->headers[i].value;
    return found;
}

/* The part of `rest` up to `stop`; `rest` is moved behind it. */
static struct str next_piece(struct str *rest, char stop)
{
    const char *end = memchr(rest->ptr, stop, rest->len);
    struct str piece = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t taken = piece.len + (end ? 1 : 0);

    rest->ptr += taken;
    rest->len -= taken;
    return piece;
}

size_t request_query(const struct request *request, struct str name, struct str *value)
{
    struct str rest = request->query;
    size_t found = 0;

    while (rest.ptr && rest.len > 0) {
        struct str pair = next_piece(&rest, '&');
        struct str key = next_piece(&pair, '=');

        if (str_equal(key, name) && found++ == 0)
            *value = pair;
    }
    return found;
}

bool request_names_header(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return name.len > 0;
}
