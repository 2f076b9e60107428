/* Handshakes that hand something over: a header that comes back as a header, a token that an
 * operator shows to the provider. What is the provider's secret is kept before the answer leaves
 * (reply->capture), by whoever asked for the answer. */
#include "handshake/kind.h"

#define ASANA STR("X-Hook-Secret")

/* Visible characters only: it goes into a header line, and comes from one. */
static bool is_visible(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

static bool is_secret(struct str text)
{
    return text.len >= CAPTURED_MIN && text.len <= CAPTURED_MAX && is_visible(text);
}

bool fits_header_echo(const struct handshake *handshake)
{
    for (size_t i = 0; i < handshake->word_count; i++)
        if (!request_names_header(handshake->words[i]))
            return false;
    return true;
}

bool answer_header_echo(const struct handshake_call *call)
{
    const struct handshake *handshake = call->handshake;
    struct str name = handshake->word_count > 0 ? handshake->words[0] : ASANA;
    struct str back = handshake->word_count > 1 ? handshake->words[1] : name;
    bool captures = handshake->word_count < 2; /* as provider_config.captures_secret has it */
    struct str value = STR_NONE;

    switch (call_header(call, name, &value)) {
    case PARAMETER_ABSENT:
        return false;
    case PARAMETER_BAD:
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    case PARAMETER_THERE:
        break;
    }
    if (captures ? !is_secret(value) : !is_visible(value))
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    if (captures)
        call->reply->capture = value;
    reply_header(call, arena_copy(call->arena, back).ptr, value);
    return reply_empty(call, 200);
}

bool answer_token_capture(const struct handshake_call *call)
{
    struct str token = call_string(call, MEMBER_VERIFICATION);

    if (!call_is_only(call, MEMBER_VERIFICATION, STR("verification_token")))
        return false;
    if (!token.ptr || !is_secret(token))
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    call->reply->capture = token;
    return reply_text(call, STR("ok\n"));
}
