/* The table of refusals: the HTTP contract's answers, in one place. */
#include "core/refusal.h"

/* clang-format off */
static const struct refusal_info table[REFUSAL_COUNT] = {
    [REFUSAL_NONE] = {200, "ok", "stored", false, false},
    [REFUSAL_BAD_REQUEST] = {400, "bad request", "bad-request", true, false},
    [REFUSAL_INVALID_JSON] = {400, "invalid json", "invalid-json", false, true},
    [REFUSAL_INVALID_FORM] = {400, "invalid form", "invalid-form", false, true},
    [REFUSAL_MISSING_FORM_FIELD] = {400, "missing form field", "missing-form-field", false, true},
    [REFUSAL_INVALID_ENCODING] = {400, "invalid content encoding", "invalid-content-encoding", false, true},
    [REFUSAL_INVALID_CLOUDEVENT] = {400, "invalid cloudevent", "invalid-cloudevent", false, true},
    [REFUSAL_MISSING_EVENTS] = {400, "missing events", "missing-events", false, true},
    [REFUSAL_MISSING_EVENT_ID] = {400, "missing event id", "missing-event-id", false, true},
    [REFUSAL_MISSING_CHALLENGE] = {400, "missing challenge", "missing-challenge", false, false},
    [REFUSAL_BAD_CHALLENGE] = {400, "bad challenge", "bad-challenge", false, false},
    [REFUSAL_MISSING_SIGNATURE] = {401, "missing signature", "missing-signature", false, true},
    [REFUSAL_BAD_SIGNATURE] = {401, "bad signature", "bad-signature", false, true},
    [REFUSAL_STALE_TIMESTAMP] = {401, "stale timestamp", "stale-timestamp", false, true},
    [REFUSAL_ADDRESS_NOT_ALLOWED] = {403, "address not allowed", "address-not-allowed", false, false},
    [REFUSAL_WRONG_VERIFY_TOKEN] = {403, "wrong verify token", "wrong-verify-token", false, false},
    [REFUSAL_SECRET_NOT_EXPECTED] = {403, "secret not expected", "secret-not-expected", false, false},
    [REFUSAL_SECRET_NOT_KEPT] = {403, "secret not kept", "secret-not-kept", false, false},
    [REFUSAL_UNKNOWN_PROVIDER] = {404, "unknown provider", "unknown-provider", false, false},
    [REFUSAL_NOT_FOUND] = {404, "not found", "not-found", false, false},
    [REFUSAL_METHOD_NOT_ALLOWED] = {405, "method not allowed", "method-not-allowed", false, false},
    [REFUSAL_TOO_SLOW] = {408, "request too slow", "request-too-slow", true, false},
    [REFUSAL_BODY_TOO_LARGE] = {413, "body too large", "body-too-large", true, false},
    [REFUSAL_TOO_MANY_EVENTS] = {413, "too many events", "too-many-events", false, true},
    [REFUSAL_TARGET_TOO_LONG] = {414, "target too long", "target-too-long", true, false},
    [REFUSAL_UNSUPPORTED_EVENT_FORMAT] = {415, "unsupported event format", "unsupported-event-format", false, true},
    [REFUSAL_UNSUPPORTED_ENCODING] = {415, "unsupported content encoding", "unsupported-content-encoding", false, false},
    [REFUSAL_RATE_LIMIT] = {429, "rate limit", "rate-limit", false, false},
    [REFUSAL_HEADERS_TOO_LARGE] = {431, "headers too large", "headers-too-large", true, false},
    [REFUSAL_UNKNOWN_METHOD] = {501, "unknown method", "unknown-method", true, false},
    [REFUSAL_VERSION_NOT_SUPPORTED] = {505, "http version not supported", "http-version-not-supported", true, false},
    [REFUSAL_TRY_AGAIN] = {503, "try again", "try-again", false, false},
};
/* clang-format on */

const struct refusal_info *refusal_info(enum refusal refusal)
{
    return &table[refusal];
}
