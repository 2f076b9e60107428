/* Why a request was not stored, and what its sender is told: one row per reason. The text is the
 * answer's body; with dashes for blanks it is the value of the Inboxd-Result header. Pure data, any
 * thread. */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include <stdbool.h>

enum refusal {
    REFUSAL_NONE,
    REFUSAL_BAD_REQUEST,         /* 400, close: no HTTP, or ambiguous framing */
    REFUSAL_INVALID_JSON,        /* 400 */
    REFUSAL_INVALID_FORM,        /* 400 */
    REFUSAL_MISSING_FORM_FIELD,  /* 400 */
    REFUSAL_INVALID_ENCODING,    /* 400: not what Content-Encoding says */
    REFUSAL_INVALID_CLOUDEVENT,  /* 400: without its required attributes, or contradicting itself */
    REFUSAL_MISSING_EVENTS,      /* 400: no array where the events should be */
    REFUSAL_MISSING_EVENT_ID,    /* 400 */
    REFUSAL_MISSING_CHALLENGE,   /* 400: a handshake's request without its parameter */
    REFUSAL_BAD_CHALLENGE,       /* 400: not decodable, too long, twice */
    REFUSAL_MISSING_SIGNATURE,   /* 401 */
    REFUSAL_BAD_SIGNATURE,       /* 401 */
    REFUSAL_STALE_TIMESTAMP,     /* 401 */
    REFUSAL_ADDRESS_NOT_ALLOWED, /* 403 */
    REFUSAL_WRONG_VERIFY_TOKEN,  /* 403 */
    REFUSAL_SECRET_NOT_EXPECTED, /* 403: a handshake's secret, and there is one already */
    REFUSAL_SECRET_NOT_KEPT,     /* 403: a handshake's secret, and no key to keep it with */
    REFUSAL_UNKNOWN_PROVIDER,    /* 404 */
    REFUSAL_NOT_FOUND,           /* 404 */
    REFUSAL_METHOD_NOT_ALLOWED,  /* 405 with Allow */
    REFUSAL_TOO_SLOW,            /* 408, close */
    REFUSAL_BODY_TOO_LARGE,      /* 413, close */
    REFUSAL_TOO_MANY_EVENTS,     /* 413 */
    REFUSAL_TARGET_TOO_LONG,     /* 414, close */
    REFUSAL_UNSUPPORTED_EVENT_FORMAT, /* 415 */
    REFUSAL_UNSUPPORTED_ENCODING,     /* 415 */
    REFUSAL_RATE_LIMIT,               /* 429 with Retry-After */
    REFUSAL_HEADERS_TOO_LARGE,        /* 431, close */
    REFUSAL_UNKNOWN_METHOD,           /* 501, close: longer than any that is known */
    REFUSAL_VERSION_NOT_SUPPORTED,    /* 505, close: neither HTTP/1.0 nor HTTP/1.1 */
    REFUSAL_TRY_AGAIN, /* 503 with Retry-After: cannot be committed now, stopping or full */
    REFUSAL_COUNT
};

struct refusal_info {
    unsigned status;    /* HTTP status */
    const char *text;   /* one line, lower case */
    const char *result; /* value of Inboxd-Result */
    bool close;         /* the connection is closed after the answer */
    bool kept;          /* a provider's quarantine keeps such requests */
};

const struct refusal_info *refusal_info(enum refusal refusal);

#endif
