/* One request on its connection. libmicrohttpd calls three times: with the request line, with
 * header, pieces of body and their end (all the same function), and when it is over. Between the
 * end of the body and the answer the connection is suspended. What must hold: the library takes a
 * response only before the first and after the last byte of a body; nothing is read as a request
 * after a refusal of framing; an exchange outlives its connection while somebody holds it. */
#include "http/exchange.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/head.h"

/* How much of a body is read and dropped so that its sender can read the refusal. */
#define DROP_MAX ((size_t)8 * 1024 * 1024)
/* What is reserved for a body of known length before the first byte of it was seen. */
#define BODY_FIRST ((size_t)16 * 1024)
/* One block of memory for a usual request with all that hangs on it. */
#define ARENA_BLOCK ((size_t)4096)

static struct exchange *exchange_of(struct http_request *request)
{
    return (struct exchange *)request;
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

void *exchange_begin(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct http_server *server = cls;
    struct arena *arena = arena_new(ARENA_BLOCK);
    struct exchange *exchange = arena_alloc(arena, sizeof(*exchange));

    exchange->request.arena = arena;
    exchange->line = str_from(target ? target : "");
    exchange->request.target = arena_copy(arena, exchange->line);
    exchange->server = server;
    exchange->connection = connection;
    exchange->references = 1;
    exchange->begun_us = exchange->touched_us = clock_mono_us();
    exchange->peer = peer_of(connection);
    if (exchange->peer) {
        exchange->peer->exchange = exchange;
        exchange->peer->requests++;
    }
    buf_init(&exchange->body, 0);
    exchange->prev = server->last;
    *(server->last ? &server->last->next : &server->first) = exchange;
    server->last = exchange;
    server->open++;
    return exchange;
}

/* What the body holds counts against the server's limit. */
static void count_body(struct exchange *exchange)
{
    exchange->server->buffered += exchange->body.size - exchange->held;
    exchange->held = exchange->body.size;
    ebb_note(exchange->server);
}

static void forget_body(struct exchange *exchange)
{
    buf_release(&exchange->body);
    exchange->server->buffered -= exchange->held;
    exchange->held = 0;
}

void http_request_hold(struct http_request *request)
{
    exchange_of(request)->references++;
}

void http_request_drop(struct http_request *request)
{
    struct exchange *exchange = exchange_of(request);

    if (--exchange->references > 0)
        return;
    if (request->owner)
        exchange->server->options.handler->ended(exchange->server->options.argument, request);
    http_answer_free(exchange->own);
    forget_body(exchange);
    arena_free(request->arena);
}

void http_request_limit(struct http_request *request, size_t max_body)
{
    exchange_of(request)->body.cap = max_body;
}

/* Gives the answer to the library. */
static enum MHD_Result queue_answer(struct exchange *exchange)
{
    const struct http_answer *answer = exchange->answer;
    const struct peer *peer = exchange->peer;
    bool worn_out =
        peer && peer->requests >= exchange->server->options.limits.requests_per_connection;
    bool close = answer->close || worn_out || exchange->server->draining;

    exchange->state = EXCHANGE_ANSWERED;
    exchange->touched_us = clock_mono_us();
    return MHD_queue_response(exchange->connection, answer->status,
                              close ? answer->closing : answer->keeping);
}

void http_request_answer(struct http_request *request, const struct http_answer *answer)
{
    struct exchange *exchange = exchange_of(request);

    if (exchange->answer)
        return;
    exchange->answer = answer;
    if (exchange->state != EXCHANGE_PARKED || !exchange->connection)
        return;
    /* In this order the answer leaves with the next run and the library asks no more. */
    if (queue_answer(exchange) != MHD_YES)
        exchange->state = EXCHANGE_ANSWERED;
    MHD_resume_connection(exchange->connection);
    exchange->server->wake = true;
}

void http_request_answer_once(struct http_request *request, struct http_answer *answer)
{
    struct exchange *exchange = exchange_of(request);

    if (exchange->answer) {
        http_answer_free(answer);
        return;
    }
    exchange->own = answer;
    http_request_answer(request, answer);
}

bool exchange_is_received(const struct exchange *exchange)
{
    return exchange->state == EXCHANGE_STARTED || exchange->state == EXCHANGE_READING ||
           exchange->state == EXCHANGE_DROPPING;
}

void exchange_cut(struct exchange *exchange, const struct http_answer *answer)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int fd = info ? fcntl(info->connect_fd, F_DUPFD_CLOEXEC, 3) : -1;

    exchange->answer = answer;
    exchange->state = EXCHANGE_CUT;
    if (fd >= 0)
        farewell(exchange->server->farewells, fd, answer);
}

/* Refuses before the body was read; the library closes the connection. */
static enum MHD_Result refuse_now(struct exchange *exchange)
{
    exchange_cut(exchange, exchange->answer);
    return MHD_NO;
}

static void server_refuses(struct exchange *exchange, enum http_fault fault)
{
    struct http_server *server = exchange->server;

    if (exchange->answer)
        return;
    exchange->answer = server->options.answers[fault];
    server->options.handler->refused(server->options.argument, &exchange->request, fault);
}

struct collect {
    struct exchange *exchange;
    struct http_header headers[HTTP_FIELDS_MAX];
    struct str previous; /* value, in the library's memory */
    size_t count;
    enum http_fault fault;
};

static enum MHD_Result collect_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                      size_t name_len, const char *value, size_t value_len)
{
    struct collect *collect = cls;
    struct http_header raw = {{name, name_len}, {value ? value : "", value ? value_len : 0}};
    struct http_header *header = &collect->headers[collect->count];

    (void)kind;
    if (collect->count == HTTP_FIELDS_MAX)
        collect->fault = HTTP_HEADER_TOO_LARGE;
    else if ((value && !http_framing_in_place(raw.name, raw.value)) ||
             (collect->previous.ptr && !http_framing_adjacent(collect->previous, raw.name)))
        collect->fault = HTTP_BAD_FRAMING;
    if (collect->fault != HTTP_NO_FAULT)
        return MHD_NO;
    header->name = arena_copy(collect->exchange->request.arena, raw.name);
    header->value = arena_copy(collect->exchange->request.arena, str_trim(raw.value));
    collect->previous = value ? raw.value : STR_NONE;
    collect->count++;
    return MHD_YES;
}

/* Copies the header out of the library's memory, which is used anew once the answer has gone.
 * What makes that impossible is a fault. */
static enum http_fault take_head(struct exchange *exchange, const char *method)
{
    struct http_request *request = &exchange->request;
    const struct peer *peer = exchange->peer;
    struct collect collect;
    struct http_header *headers;

    collect.exchange = exchange;
    collect.previous = STR_NONE;
    collect.count = 0;
    collect.fault = HTTP_NO_FAULT;
    request->method = arena_copy(request->arena, str_from(method));
    request->received_us = clock_wall_us();
    if (peer && peer->source_ip[0])
        request->source_ip = arena_copy(request->arena, str_from(peer->source_ip));
    MHD_get_connection_values_n(exchange->connection, MHD_HEADER_KIND, collect_header, &collect);
    headers = arena_alloc(request->arena, (collect.count + 1) * sizeof(*headers));
    memcpy(headers, collect.headers, collect.count * sizeof(*headers));
    request->headers = headers;
    request->header_count = collect.count;
    return collect.fault;
}

/* What is wrong with the header as the library has read it, which is not always as it was sent: it
 * passes over blanks, and what lies behind a NUL is not there for it. */
static enum http_fault judge_head(const struct exchange *exchange, const char *method,
                                  const char *version, struct http_framing *framing)
{
    const struct http_request *request = &exchange->request;
    struct http_head head;

    http_head_line(&head, request->method, request->target, str_from(version));
    for (size_t i = 0; i < request->header_count; i++)
        http_head_field(&head, request->headers[i].name, request->headers[i].value);
    http_head_end(&head);
    *framing = head.framing;
    if (head.fault == HTTP_NO_FAULT && (method + request->method.len + 1 != exchange->line.ptr ||
                                        exchange->line.ptr + exchange->line.len + 1 != version))
        return HTTP_BAD_FRAMING;
    return head.fault;
}

/* The header is complete. */
static enum MHD_Result on_head(struct exchange *exchange, const char *method, const char *version)
{
    struct http_server *server = exchange->server;
    enum http_fault taken = take_head(exchange, method);
    struct http_framing framing;
    enum http_fault fault = judge_head(exchange, method, version, &framing);

    exchange->head_us = exchange->touched_us = clock_mono_us();
    if (taken != HTTP_NO_FAULT || fault != HTTP_NO_FAULT) {
        server_refuses(exchange, taken != HTTP_NO_FAULT ? taken : fault);
        return refuse_now(exchange);
    }
    exchange->request.length = framing.length > 0 ? framing.length : 0;
    if (server->draining)
        server_refuses(exchange, HTTP_TOO_MANY);
    else
        server->options.handler->head(server->options.argument, &exchange->request);
    if (framing.length > 0 && (uint64_t)framing.length > exchange->body.cap)
        server_refuses(exchange, HTTP_BODY_TOO_LARGE);
    if (!exchange->answer) {
        exchange->state = EXCHANGE_READING;
        if (framing.length > 0)
            buf_reserve(&exchange->body,
                        framing.length < (int64_t)BODY_FIRST ? (size_t)framing.length : BODY_FIRST);
        count_body(exchange);
        return MHD_YES;
    }
    exchange->state = EXCHANGE_DROPPING;
    if ((framing.length > 0 || framing.chunked) &&
        (framing.expect || framing.length > (int64_t)DROP_MAX))
        return refuse_now(exchange);
    return MHD_YES;
}

/* A piece of body. */
static enum MHD_Result on_bytes(struct exchange *exchange, const char *bytes, size_t len)
{
    struct err err;

    exchange->received += len;
    if (exchange->request.length < (int64_t)exchange->received)
        exchange->request.length = (int64_t)exchange->received;
    exchange->touched_us = clock_mono_us();
    if (exchange->state == EXCHANGE_READING) {
        bool kept = buf_add(&exchange->body, bytes, len, &err) == 0;

        count_body(exchange);
        if (kept && exchange->server->buffered <= exchange->server->options.limits.buffered)
            return MHD_YES;
        server_refuses(exchange,
                       !kept && err.kind == ERR_INPUT ? HTTP_BODY_TOO_LARGE : HTTP_TOO_MANY);
        forget_body(exchange);
        exchange->state = EXCHANGE_DROPPING;
    }
    return exchange->received > DROP_MAX ? refuse_now(exchange) : MHD_YES;
}

/* The request is complete. */
static enum MHD_Result on_end(struct exchange *exchange)
{
    struct http_server *server = exchange->server;

    if (exchange->state == EXCHANGE_DROPPING)
        return queue_answer(exchange);
    exchange->request.body = buf_str(&exchange->body);
    exchange->state = EXCHANGE_HANDED;
    server->options.handler->body(server->options.argument, &exchange->request);
    if (exchange->answer)
        return queue_answer(exchange);
    exchange->state = EXCHANGE_PARKED;
    MHD_suspend_connection(exchange->connection);
    return MHD_YES;
}

enum MHD_Result exchange_continue(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *len, void **context)
{
    struct exchange *exchange = *context;
    enum MHD_Result result = MHD_NO;

    (void)cls;
    (void)connection;
    (void)url;
    switch (exchange->state) {
    case EXCHANGE_STARTED:
        return on_head(exchange, method, version);
    case EXCHANGE_READING:
    case EXCHANGE_DROPPING:
        if (*len == 0)
            return on_end(exchange);
        result = on_bytes(exchange, bytes, *len);
        *len = 0;
        return result;
    case EXCHANGE_HANDED:
    case EXCHANGE_PARKED:
    case EXCHANGE_ANSWERED:
    case EXCHANGE_CUT:
        break; /* cut while the library still had bytes */
    }
    return MHD_NO;
}

void exchange_end(void *cls, struct MHD_Connection *connection, void **context,
                  enum MHD_RequestTerminationCode code)
{
    struct http_server *server = cls;
    struct exchange *exchange = *context;

    (void)connection;
    if (!exchange)
        return;
    *context = NULL;
    /* The library has seen the sender's end of the connection before it wrote the answer, or before
     * it read all of what is refused. The sender may have closed its side only. */
    if ((code == MHD_REQUEST_TERMINATED_WITH_ERROR && exchange->state == EXCHANGE_ANSWERED) ||
        (code == MHD_REQUEST_TERMINATED_CLIENT_ABORT && exchange->state == EXCHANGE_DROPPING))
        exchange_cut(exchange, exchange->answer);
    *(exchange->prev ? &exchange->prev->next : &server->first) = exchange->next;
    *(exchange->next ? &exchange->next->prev : &server->last) = exchange->prev;
    server->open--;
    if (exchange->peer) {
        exchange->peer->exchange = NULL;
        exchange->peer->idle_since_us = clock_mono_us();
    }
    exchange->peer = NULL;
    exchange->connection = NULL;
    http_request_drop(&exchange->request);
}
