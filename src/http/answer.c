/* Answers as libmicrohttpd's response objects, which it counts references of: one that keeps the
 * connection and one that closes it. A third form is plain bytes, for the cases in which the
 * library cannot answer (it takes no response in the middle of a body) and for connections that it
 * was never given. */
#include "http/answer.h"

#include <microhttpd.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/exchange.h"

static const char *type_of(const struct http_answer_spec *spec)
{
    return spec->content_type ? spec->content_type : "text/plain";
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && MHD_add_response_header(response, name, value) != MHD_YES)
        abort();
}

/* Whether it stays one line: what a peer sent must not begin another header, or the body. */
static bool is_one_line(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_field(const struct http_header *header)
{
    return header->name.len > 0 && is_one_line(header->name) && is_one_line(header->value);
}

static void add_field(struct MHD_Response *response, const struct http_header *header)
{
    char *name = mem_copy(header->name), *value = mem_copy(header->value);

    add_header(response, name, value);
    free(name);
    free(value);
}

static struct MHD_Response *make_response(const struct http_answer_spec *spec, struct str body,
                                          bool close)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body.len, (void *)(size_t)body.ptr, MHD_RESPMEM_PERSISTENT);

    if (!response)
        abort();
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type_of(spec));
    add_header(response, "Inboxd-Result", spec->result);
    add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, spec->retry_after);
    add_header(response, MHD_HTTP_HEADER_ALLOW, spec->allow);
    for (size_t i = 0; i < spec->header_count; i++)
        if (is_field(&spec->headers[i]))
            add_field(response, &spec->headers[i]);
    if (close)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    return response;
}

static void put_header(struct buf *raw, const char *name, const char *value)
{
    if (value)
        buf_printf(raw, "%s: %s\r\n", name, value);
}

static void make_raw(struct buf *raw, const struct http_answer_spec *spec, struct str body)
{
    buf_init(raw, BUF_NO_CAP);
    buf_printf(raw, "HTTP/1.1 %u %s\r\nConnection: close\r\n", spec->status,
               MHD_get_reason_phrase_for(spec->status));
    put_header(raw, "Content-Type", type_of(spec));
    put_header(raw, "Inboxd-Result", spec->result);
    put_header(raw, "Retry-After", spec->retry_after);
    put_header(raw, "Allow", spec->allow);
    for (size_t i = 0; i < spec->header_count; i++)
        if (is_field(&spec->headers[i]))
            buf_printf(raw, "%.*s: %.*s\r\n", STR_ARG(spec->headers[i].name),
                       STR_ARG(spec->headers[i].value));
    if (spec->status != MHD_HTTP_NO_CONTENT)
        buf_printf(raw, "Content-Length: %zu\r\n", body.len);
    buf_put(raw, "\r\n", 2);
    buf_put_str(raw, body);
}

struct http_answer *http_answer_new(const struct http_answer_spec *spec)
{
    struct http_answer *answer = mem_alloc(sizeof(*answer));
    struct str body = spec->body;

    answer->status = spec->status;
    answer->close = spec->close;
    if (spec->text) {
        answer->body = mem_printf("%s\n", spec->text);
        body = str_from(answer->body);
    } else {
        answer->body = mem_copy(body);
        body.ptr = answer->body;
    }
    answer->keeping = make_response(spec, body, false);
    answer->closing = make_response(spec, body, true);
    make_raw(&answer->raw, spec, body);
    return answer;
}

void http_answer_free(struct http_answer *answer)
{
    if (!answer)
        return;
    MHD_destroy_response(answer->keeping);
    MHD_destroy_response(answer->closing);
    free(answer->body);
    buf_release(&answer->raw);
    free(answer);
}
