/* Reading a capture: the head line by line, then the body by what the head says of it. */
#include "diagnose/captured.h"

#include <string.h>

#include "base/buf.h"

#define HEADERS_MAX 500

struct reader {
    struct str rest;
    size_t line; /* of the head, from 1 */
    bool lf_only;
};

/* The next line without its end; false at the end of the text. */
static bool next_line(struct reader *reader, struct str *line)
{
    const char *end = reader->rest.len ? memchr(reader->rest.ptr, '\n', reader->rest.len) : NULL;

    if (!end)
        return false;
    *line = (struct str){reader->rest.ptr, (size_t)(end - reader->rest.ptr)};
    reader->rest.len -= line->len + 1;
    reader->rest.ptr = end + 1;
    reader->line++;
    if (line->len && line->ptr[line->len - 1] == '\r')
        line->len--;
    else
        reader->lf_only = true;
    return true;
}

/* The text before the first `c`, which goes with it. */
static struct str take_until(struct str *rest, char c)
{
    const char *end = rest->len ? memchr(rest->ptr, c, rest->len) : NULL;
    struct str taken = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};

    rest->ptr += taken.len + (end ? 1 : 0);
    rest->len -= taken.len + (end ? 1 : 0);
    return taken;
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] == ':' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

static int read_request_line(struct reader *reader, struct request *request, struct err *err)
{
    struct str line, rest;
    const char *mark;

    do {
        if (!next_line(reader, &line))
            return err_set(err, ERR_INPUT,
                           "is no HTTP request: it has no line such as POST /webhooks/NAME "
                           "HTTP/1.1");
    } while (line.len == 0); /* RFC 9112 section 2.2 */
    rest = line;
    request->method = take_until(&rest, ' ');
    request->target = take_until(&rest, ' ');
    if (!is_token(request->method) || request->target.len == 0 || !str_starts(rest, STR("HTTP/")))
        return err_set(err, ERR_INPUT,
                       "is no HTTP request: line %zu is not METHOD TARGET HTTP/1.1, such as POST "
                       "/webhooks/NAME HTTP/1.1",
                       reader->line);
    mark = memchr(request->target.ptr, '?', request->target.len);
    request->query = STR_NONE;
    if (mark)
        request->query =
            (struct str){mark + 1, request->target.len - (size_t)(mark + 1 - request->target.ptr)};
    return 0;
}

/* A folded line belongs to the one before, with one blank between (RFC 9112 section 5.2). */
static void unfold(struct header *header, struct str line, struct arena *arena)
{
    header->value =
        str_from(arena_printf(arena, "%.*s %.*s", STR_ARG(header->value), STR_ARG(str_trim(line))));
}

static int read_headers(struct reader *reader, struct request *request, struct arena *arena,
                        struct err *err)
{
    struct header *headers = arena_alloc(arena, HEADERS_MAX * sizeof(*headers));
    struct str line, name;
    size_t count = 0;

    for (;;) {
        if (!next_line(reader, &line))
            return err_set(err, ERR_INPUT,
                           "has no end of its head: an empty line stands between the headers and "
                           "the body");
        if (line.len == 0)
            break;
        if ((line.ptr[0] == ' ' || line.ptr[0] == '\t') && count > 0) {
            unfold(&headers[count - 1], line, arena);
            continue;
        }
        name = take_until(&line, ':');
        if (!is_token(name) || name.ptr + name.len == line.ptr)
            return err_set(err, ERR_INPUT, "has a header that is not NAME: VALUE in line %zu",
                           reader->line);
        if (count == HEADERS_MAX)
            return err_set(err, ERR_INPUT, "has more than %d headers", HEADERS_MAX);
        headers[count++] = (struct header){name, str_trim(line)};
    }
    request->headers = headers;
    request->header_count = count;
    return 0;
}

/* ---- the body ---- */

/* "1a;extension" */
static bool read_chunk_size(struct str line, size_t *size)
{
    struct str digits = str_trim(take_until(&line, ';'));
    size_t value = 0;

    if (digits.len == 0 || digits.len > 15)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.ptr[i], low = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            value = value * 16 + (size_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value * 16 + (size_t)(low - 'a') + 10;
        else
            return false;
    }
    *size = value;
    return true;
}

/* False where the text is not written in chunks: the capturing program has put them together. */
static bool join_chunks(struct str text, struct arena *arena, struct str *body)
{
    struct reader reader = {.rest = text};
    char *joined = arena_bytes(arena, text.len + 1);
    size_t len = 0, size;
    struct str line;

    for (;;) {
        if (!next_line(&reader, &line) || !read_chunk_size(line, &size) || size > reader.rest.len)
            return false;
        if (size == 0)
            break;
        memcpy(joined + len, reader.rest.ptr, size);
        len += size;
        reader.rest.ptr += size;
        reader.rest.len -= size;
        if (!next_line(&reader, &line) || line.len > 0)
            return false;
    }
    *body = (struct str){joined, len};
    return true;
}

static bool is_chunked(const struct request *request)
{
    struct str value;

    return request_header(request, STR("transfer-encoding"), &value) > 0 && value.len >= 7 &&
           str_equal_nocase((struct str){value.ptr + value.len - 7, 7}, STR("chunked"));
}

static int64_t content_length(const struct request *request)
{
    struct str value;
    int64_t length = 0;

    if (request_header(request, STR("content-length"), &value) == 0 || value.len == 0 ||
        value.len > 12)
        return -1;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return -1;
        length = length * 10 + (value.ptr[i] - '0');
    }
    return length;
}

int captured_read(struct str text, struct arena *arena, struct captured *captured, struct err *err)
{
    struct captured read = {.content_length = -1};
    struct reader reader = {.rest = text};

    if (read_request_line(&reader, &read.request, err) < 0 ||
        read_headers(&reader, &read.request, arena, err) < 0)
        return -1;
    read.lf_only = reader.lf_only;
    read.file_body = reader.rest.len;
    read.request.body = reader.rest;
    if (is_chunked(&read.request)) {
        read.chunked = join_chunks(reader.rest, arena, &read.request.body);
    } else {
        read.content_length = content_length(&read.request);
        if (read.content_length >= 0 && (size_t)read.content_length < reader.rest.len)
            read.request.body.len = (size_t)read.content_length;
    }
    *captured = read;
    return 0;
}
