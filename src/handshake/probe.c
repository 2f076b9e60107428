/* Handshakes that ask whether somebody is there and agrees. */
#include "handshake/kind.h"

bool answer_head_ok(const struct handshake_call *call)
{
    return reply_empty(call, 200);
}

/* Of an origin only what a host's name has: it is sent back. */
static bool is_origin(struct str origin)
{
    for (size_t i = 0; i < origin.len; i++)
        if (origin.ptr[i] <= ' ' || origin.ptr[i] > '~')
            return false;
    return true;
}

static bool is_allowed(const struct handshake *handshake, struct str origin)
{
    for (size_t i = 0; i < handshake->word_count; i++)
        if (str_equal_nocase(origin, handshake->words[i]))
            return true;
    return handshake->word_count == 0;
}

/* CloudEvents, "HTTP 1.1 Web Hooks for Event Delivery" section 4. Without consent there is no
 * answer of this kind, and the request is 405. */
bool answer_options(const struct handshake_call *call)
{
    struct str origin = STR_NONE, rate;

    switch (call_header(call, STR("WebHook-Request-Origin"), &origin)) {
    case PARAMETER_ABSENT:
        return false;
    case PARAMETER_BAD:
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    case PARAMETER_THERE:
        break;
    }
    if (!is_origin(origin))
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    if (!is_allowed(call->handshake, origin))
        return false;
    reply_header(call, "Allow", STR("POST"));
    reply_header(call, "WebHook-Allowed-Origin", origin);
    if (request_header(call->request, STR("WebHook-Request-Rate"), &rate) > 0)
        reply_header(call, "WebHook-Allowed-Rate", STR("*"));
    return reply_empty(call, 200);
}

/* "webhook_id=12" and nothing else. */
bool answer_unsigned_ping(const struct handshake_call *call)
{
    struct str body = call->request->body;
    struct str name = call->handshake->word_count ? call->handshake->words[0] : STR("webhook_id");
    size_t digits;

    if (!str_starts(body, name) || body.len < name.len + 2 || body.len > name.len + 21 ||
        body.ptr[name.len] != '=')
        return false;
    for (digits = name.len + 1; digits < body.len; digits++)
        if (body.ptr[digits] < '0' || body.ptr[digits] > '9')
            return false;
    return reply_text(call, STR("ok\n"));
}
