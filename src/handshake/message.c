/* Handshakes that come as a message: the answer is made of members of the body. Where the provider
 * signs them, they are looked at only when the signature is right. */
#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "handshake/kind.h"

/* The content of a buffer that is given up, as text that lives as long as the answer. */
static struct str take(const struct handshake_call *call, struct buf *buf)
{
    struct str text = arena_copy(call->arena, buf_str(buf));

    buf_release(buf);
    return text;
}

static bool is(struct str text, const char *want)
{
    return text.ptr && str_is(text, want);
}

/* ---- json-challenge ---- */

bool fits_json_challenge(const struct handshake *handshake)
{
    return handshake->word_count == 0 || str_is(handshake->words[0], "unsigned");
}

static bool is_twitch(const struct handshake_call *call)
{
    struct str type = STR_NONE;

    return call_header(call, STR("Twitch-Eventsub-Message-Type"), &type) == PARAMETER_THERE &&
           str_is(type, "webhook_callback_verification");
}

static bool challenge_as_json(const struct handshake_call *call, struct str challenge)
{
    struct buf json;

    buf_init(&json, BUF_NO_CAP);
    buf_put_str(&json, STR("{\"challenge\":"));
    buf_put_json_string(&json, challenge);
    buf_put_char(&json, '}');
    return reply_json(call, take(call, &json));
}

/* Twitch says by a header, Slack by `type`, monday by sending nothing but the challenge; only the
 * last needs no signature, where the configuration says so. */
bool answer_json_challenge(const struct handshake_call *call)
{
    struct str challenge = call_string(call, MEMBER_CHALLENGE);
    bool text = is_twitch(call) || is(call_string(call, MEMBER_TYPE), "url_verification");
    bool alone = call_is_only(call, MEMBER_CHALLENGE, STR("challenge"));

    if (call->stage == HANDSHAKE_BEFORE_VERIFY)
        text = false, alone = alone && call->handshake->word_count > 0;
    if (!text && !alone)
        return false;
    if (!challenge.ptr || challenge.len == 0 || challenge.len > CHALLENGE_MAX)
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    return text ? reply_text(call, challenge) : challenge_as_json(call, challenge);
}

/* ---- zoom ---- */

bool answer_zoom(const struct handshake_call *call)
{
    struct str token = call_string(call, MEMBER_PLAIN_TOKEN);
    struct str key = call->secret;
    struct digester *digester;
    unsigned char digest[DIGEST_MAX];
    char hex[CODEC_HEX_SIZE(DIGEST_MAX)];
    struct buf json;

    if (!is(call_string(call, MEMBER_EVENT), "endpoint.url_validation"))
        return false;
    if (!token.ptr || token.len == 0 || token.len > CHALLENGE_MAX)
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    if (!key.ptr)
        key = secret_reveal(call->handshake->config->secrets[0]);
    digester = digester_new_keyed(DIGEST_SHA256, key);
    digester_begin(digester);
    digester_add(digester, token);
    codec_hex_encode(digest, digester_end(digester, digest), hex);
    digester_free(digester);
    buf_init(&json, BUF_NO_CAP);
    buf_put_str(&json, STR("{\"plainToken\":"));
    buf_put_json_string(&json, token);
    buf_printf(&json, ",\"encryptedToken\":\"%s\"}", hex);
    return reply_json(call, take(call, &json));
}

/* ---- ping-pong ---- */

/* Discord: type 1 without an event is the ping of interactions; type 1 with one is an event; type
 * 0 is the ping of events, whose answer has no body but has a content type. */
bool answer_ping_pong(const struct handshake_call *call)
{
    struct json_value type = call->members[MEMBER_TYPE];

    if (type.kind != JSON_KIND_NUMBER)
        return false;
    if (str_is(type.text, "1") && call->members[MEMBER_EVENT].kind == JSON_KIND_ABSENT)
        return reply_json(call, STR("{\"type\":1}"));
    if (!str_is(type.text, "0"))
        return false;
    reply_empty(call, 204);
    call->reply->content_type = "application/json";
    return true;
}

/* ---- sns-confirm ---- */

#define ADDRESS_MAX 2048

/* https://sns.REGION.amazonaws.com/ or .com.cn/: what a person is asked to open has to be AWS's,
 * also where the provider's section verifies nothing. */
static bool is_sns_url(struct str url)
{
    static const struct str front = {"https://sns.", 12};
    static const char *const ends[] = {".amazonaws.com/", ".amazonaws.com.cn/"};
    size_t len = front.len;

    if (!str_starts(url, front) || url.len > ADDRESS_MAX)
        return false;
    while (len < url.len && ((url.ptr[len] >= 'a' && url.ptr[len] <= 'z') ||
                             (url.ptr[len] >= '0' && url.ptr[len] <= '9') || url.ptr[len] == '-'))
        len++;
    for (size_t i = len; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~')
            return false;
    url = (struct str){url.ptr + len, url.len - len};
    return len >= front.len + 3 &&
           (str_starts(url, str_from(ends[0])) || str_starts(url, str_from(ends[1])));
}

bool answer_sns_confirm(const struct handshake_call *call)
{
    struct str url = call_string(call, MEMBER_SNS_URL);

    if (!is(call_string(call, MEMBER_SNS_TYPE), "SubscriptionConfirmation"))
        return false;
    if (!url.ptr || !is_sns_url(url))
        return reply_refuse(call, REFUSAL_BAD_CHALLENGE);
    call->reply->visit = url;
    return reply_text(call, STR("ok\n"));
}
