/* Answers as libmicrohttpd's response objects, which it counts references of: one that keeps the
 * connection and one that closes it. A third form is plain bytes, for the cases in which the
 * library cannot answer (it takes no response in the middle of a body) and for connections that it
 * was never given. */
#include "http/answer.h"

#include <microhttpd.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/exchange.h"

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && MHD_add_response_header(response, name, value) != MHD_YES)
        abort();
}

static struct MHD_Response *make_response(const struct http_answer_spec *spec, const char *body,
                                          bool close)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), (void *)(size_t)body, MHD_RESPMEM_PERSISTENT);

    if (!response)
        abort();
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    add_header(response, "Inboxd-Result", spec->result);
    add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, spec->retry_after);
    add_header(response, MHD_HTTP_HEADER_ALLOW, spec->allow);
    if (close)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    return response;
}

static char *make_raw(const struct http_answer_spec *spec, const char *body)
{
    const char *retry = spec->retry_after, *allow = spec->allow;

    return mem_printf("HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                      "Inboxd-Result: %s\r\n%s%s%s%s%s%sContent-Length: %zu\r\n\r\n%s",
                      spec->status, MHD_get_reason_phrase_for(spec->status), spec->result,
                      retry ? "Retry-After: " : "", retry ? retry : "", retry ? "\r\n" : "",
                      allow ? "Allow: " : "", allow ? allow : "", allow ? "\r\n" : "", strlen(body),
                      body);
}

struct http_answer *http_answer_new(const struct http_answer_spec *spec)
{
    struct http_answer *answer = mem_alloc(sizeof(*answer));

    answer->status = spec->status;
    answer->close = spec->close;
    answer->body = mem_printf("%s\n", spec->text);
    answer->keeping = make_response(spec, answer->body, false);
    answer->closing = make_response(spec, answer->body, true);
    answer->raw = make_raw(spec, answer->body);
    return answer;
}

void http_answer_free(struct http_answer *answer)
{
    if (!answer)
        return;
    MHD_destroy_response(answer->keeping);
    MHD_destroy_response(answer->closing);
    free(answer->body);
    free(answer->raw);
    free(answer);
}
