/* A request's target and header fields from any bytes: one line each, the target first, "name:
 * value" after it. What names a provider is a plain name out of the target's own bytes, and a
 * header that is not ambiguous has at most one reading of where the body ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "http/framing.h"
#include "http/request.h"
#include "ingest/path.h"

#define HEADERS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(struct str target)
{
    struct path path = path_read(target);

    if (path.provider.ptr) {
        if (path.provider.len < 1 || path.provider.len > 63 || path.provider.ptr < target.ptr ||
            path.provider.ptr + path.provider.len > target.ptr + target.len)
            abort();
        for (size_t i = 0; i < path.provider.len; i++)
            if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", path.provider.ptr[i]))
                abort();
    }
    if (path.query.ptr && path.query.ptr + path.query.len != target.ptr + target.len)
        abort();
}

static struct str next_line(struct str *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    struct str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = end ? line.len + 1 : line.len;

    rest->ptr += used;
    rest->len -= used;
    return line;
}

static void check_framing(const struct http_header *headers, size_t count, bool old)
{
    struct http_framing framing = http_framing_read(headers, count, old);

    if (framing.ambiguous)
        return;
    if ((framing.chunked && (framing.length >= 0 || old)) || framing.length < -1)
        abort();
    for (size_t i = 0; i < count; i++)
        if (memchr(headers[i].name.ptr, ' ', headers[i].name.len))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {size ? (const char *)data : "", size};
    struct http_header headers[HEADERS_MAX];
    size_t count = 0;

    check_path(next_line(&rest));
    while (rest.len > 0 && count < HEADERS_MAX) {
        struct str line = next_line(&rest);
        const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;

        if (!colon)
            continue;
        headers[count].name = (struct str){line.ptr, (size_t)(colon - line.ptr)};
        headers[count].value =
            str_trim((struct str){colon + 1, line.len - headers[count].name.len - 1});
        (void)http_framing_in_place(headers[count].name, headers[count].value);
        count++;
    }
    check_framing(headers, count, false);
    check_framing(headers, count, true);
    return 0;
}
