/* Handshakes that come in the query: the answer is made of one parameter. */
#include <stdio.h>

#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "handshake/kind.h"

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

/* ptr NULL: does not decode. */
static struct str decoded(struct arena *arena, struct str text)
{
    char *bytes = arena_bytes(arena, text.len + 1);
    ssize_t len = codec_percent_decode(text, bytes);

    return len < 0 ? STR_NONE : (struct str){bytes, (size_t)len};
}

enum parameter call_parameter(const struct handshake_call *call, struct str name, struct str *value)
{
    struct str rest = call->request->query;
    enum parameter found = PARAMETER_ABSENT;

    while (rest.ptr && rest.len > 0) {
        struct str pair = next_piece(&rest, '&');
        struct str key = decoded(call->arena, next_piece(&pair, '='));

        if (!key.ptr || !str_equal_nocase(key, name))
            continue;
        *value = decoded(call->arena, pair);
        if (found != PARAMETER_ABSENT || value->len == 0 || value->len > CHALLENGE_MAX)
            return PARAMETER_BAD;
        found = PARAMETER_THERE;
    }
    return found;
}

/* The parameter that the configuration names, or `name`. */
static bool echo(const struct handshake_call *call, struct str name)
{
    struct str value = STR_NONE;

    if (call->handshake->word_count > 0)
        name = call->handshake->words[0];
    switch (call_parameter(call, name, &value)) {
    case PARAMETER_ABSENT:
        return false;
    case PARAMETER_BAD:
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    case PARAMETER_THERE:
        break;
    }
    return reply_text(call, value);
}

bool answer_echo_query(const struct handshake_call *call)
{
    return echo(call, STR("challenge"));
}

bool answer_validation_token(const struct handshake_call *call)
{
    return echo(call, STR("validationToken"));
}

bool fits_hub(const struct handshake *handshake)
{
    return handshake->word_count == 0 || str_is(handshake->words[0], "json");
}

static bool token_fits(const struct provider_config *config, struct str offered)
{
    bool fits = false;

    for (size_t i = 0; i < config->handshake_token_count; i++)
        fits |= secret_matches(config->handshake_tokens[i], offered);
    return fits;
}

static bool answer_hub_json(const struct handshake_call *call, struct str challenge)
{
    struct buf json;
    struct str body;

    buf_init(&json, BUF_NO_CAP);
    buf_put_str(&json, STR("{\"hub.challenge\":"));
    buf_put_json_string(&json, challenge);
    buf_put_char(&json, '}');
    body = arena_copy(call->arena, buf_str(&json));
    buf_release(&json);
    return reply_json(call, body);
}

bool answer_hub(const struct handshake_call *call)
{
    struct str mode = STR_NONE, token = STR_NONE, challenge = STR_NONE;
    enum parameter has_mode = call_parameter(call, STR("hub.mode"), &mode);
    enum parameter has_token = call_parameter(call, STR("hub.verify_token"), &token);
    enum parameter has_challenge = call_parameter(call, STR("hub.challenge"), &challenge);

    if (has_challenge == PARAMETER_ABSENT)
        return false;
    if (has_token != PARAMETER_THERE || !token_fits(call->handshake->config, token))
        return reply_refuse(call, REFUSAL_WRONG_VERIFY_TOKEN);
    if (has_challenge == PARAMETER_BAD || has_mode != PARAMETER_THERE || !str_is(mode, "subscribe"))
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    return call->handshake->word_count ? answer_hub_json(call, challenge)
                                       : reply_text(call, challenge);
}

bool answer_crc(const struct handshake_call *call)
{
    struct str token = STR_NONE;
    enum parameter found = call_parameter(call, STR("crc_token"), &token);
    struct str key = secret_reveal(call->handshake->config->secrets[0]);
    struct digester *digester;
    unsigned char digest[DIGEST_MAX];
    char text[CODEC_BASE64_SIZE(DIGEST_MAX)];
    size_t len;

    if (found == PARAMETER_ABSENT)
        return false;
    if (found == PARAMETER_BAD)
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    digester = digester_new_keyed(DIGEST_SHA256, key);
    digester_begin(digester);
    digester_add(digester, token);
    len = digester_end(digester, digest);
    digester_free(digester);
    codec_base64_encode(digest, len, false, text);
    return reply_json(
        call, str_from(arena_printf(call->arena, "{\"response_token\":\"sha256=%s\"}", text)));
}
