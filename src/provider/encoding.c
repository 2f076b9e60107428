/* The header's list, and the way back. */
#include "provider/encoding.h"

#include "base/inflate.h"

static enum encoding named(struct str name)
{
    if (str_equal_nocase(name, STR("gzip")) || str_equal_nocase(name, STR("x-gzip")))
        return ENCODING_GZIP;
    if (str_equal_nocase(name, STR("deflate")))
        return ENCODING_DEFLATE;
    if (name.len == 0 || str_equal_nocase(name, STR("identity")))
        return ENCODING_NONE;
    return ENCODING_UNKNOWN;
}

/* `so_far` with the items of one header's list. */
static enum encoding add_list(enum encoding so_far, struct str list)
{
    while (list.len > 0) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
        enum encoding one = named(str_trim((struct str){list.ptr, len}));

        if (one != ENCODING_NONE)
            so_far = so_far == ENCODING_NONE ? one : ENCODING_UNKNOWN;
        len += comma ? 1 : 0;
        list = (struct str){list.ptr + len, list.len - len};
    }
    return so_far;
}

enum encoding encoding_of(const struct request *request)
{
    enum encoding encoding = ENCODING_NONE;

    for (size_t i = 0; i < request->header_count; i++)
        if (str_equal_nocase(request->headers[i].name, STR("content-encoding")))
            encoding = add_list(encoding, request->headers[i].value);
    return encoding;
}

static enum refusal inflate_body(struct str body, enum inflate_format format, size_t max,
                                 struct arena *arena, struct str *text)
{
    struct buf out;
    enum refusal refusal = REFUSAL_NONE;

    buf_init(&out, max);
    switch (inflate_text(body, format, &out)) {
    case INFLATE_OK:
        *text = arena_copy(arena, buf_str(&out));
        break;
    case INFLATE_BAD:
        refusal = REFUSAL_INVALID_ENCODING;
        break;
    case INFLATE_TOO_LARGE:
        refusal = REFUSAL_BODY_TOO_LARGE;
        break;
    case INFLATE_NO_MEMORY:
        refusal = REFUSAL_TRY_AGAIN;
        break;
    }
    buf_release(&out);
    return refusal;
}

enum refusal encoding_undo(const struct request *request, size_t max, struct arena *arena,
                           struct str *text)
{
    enum encoding encoding = request->body.len > 0 ? encoding_of(request) : ENCODING_NONE;

    switch (encoding) {
    case ENCODING_NONE:
        *text = request->body;
        return REFUSAL_NONE;
    case ENCODING_GZIP:
        return inflate_body(request->body, INFLATE_GZIP, max, arena, text);
    case ENCODING_DEFLATE:
        return inflate_body(request->body, INFLATE_DEFLATE, max, arena, text);
    case ENCODING_UNKNOWN:
        break;
    }
    return REFUSAL_UNSUPPORTED_ENCODING;
}
