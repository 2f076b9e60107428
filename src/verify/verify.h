/* Signatures. A scheme is compiled once from its texts and is then immutable, but for the keyed
 * contexts that it reuses: one thread at a time. What is behind this door is a table of kinds
 * (verify/scheme.h): the template engine for all providers that sign with a keyed digest, and
 * small ones beside it.
 *
 * What makes it safe (docs/verification.md has the rules with examples):
 *  - the bytes that were received are what is signed, never something written anew from them;
 *  - signatures are compared as bytes of the digest's length, in constant time; what does not
 * decode is skipped, and nothing left is a failure; the algorithm is never chosen by the message;
 *  - the timestamp's text goes into the template as it was sent, and is then read strictly; its
 * window is two-sided;
 *  - a header that must be single and comes twice is a failure, whatever its values;
 *  - each secret's digest is computed once, however many signatures are offered; with public keys
 * at most eight of a request's signatures are tried. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/request.h"
#include "core/tolerance.h"

struct verify_scheme;

/* The texts as the configuration has them; ptr NULL: not set. Only read while the scheme is made.
 */
struct verify_spec {
    struct str algorithm; /* hmac-sha1, hmac-sha256, hmac-sha512, sha256, ed25519,
                             ecdsa-p256-sha256, rsa-sha256; token, basic, jwt, twilio, adyen, sns */
    struct str signature; /* SOURCE [split CH] [prefix TEXT] hex|base64|base64url [repeat any], or
                             several with "|" between them */
    struct str timestamp; /* SOURCE s|ms|iso8601, item PREFIX s|ms|iso8601, or claim:NAME s|ms */
    struct str signed_template; /* literals and {body} {ts} {method} {url} {url:decoded}
                                   {header:N} {query:N} {json:/p} {var:N} {secret}
                                   {sha256hex:body} {crc32:body} */
    struct str secret_encoding; /* raw, hex, base64, whsec, jwk; of public keys: verify/key.h */
    struct str public_url;      /* what {url} is, without query */
    struct str vars;            /* NAME=VALUE, ... for {var:NAME} */
    struct str body_unauthenticated; /* yes: the template may leave the body out; no */
    struct str algorithms;           /* jwt: those that are allowed */
    struct str claims;               /* jwt: NAME, NAME=TEXT, ... that a token has to have */
    struct tolerance tolerance;      /* of the timestamp */
    int64_t leeway_ms;               /* jwt: how far clocks may differ, for exp and nbf */
    const struct str *secrets;       /* as configured, not yet decoded */
    size_t secret_count;
};

/* Which text a mistake is in. */
enum verify_field {
    VERIFY_ALGORITHM,
    VERIFY_SIGNATURE,
    VERIFY_TIMESTAMP,
    VERIFY_SIGNED,
    VERIFY_SECRET, /* `index` says which */
    VERIFY_SECRET_ENCODING,
    VERIFY_PUBLIC_URL,
    VERIFY_VARS,
    VERIFY_BODY_UNAUTHENTICATED,
    VERIFY_ALGORITHMS,
    VERIFY_CLAIMS,
};

/* Called for every mistake; `text` never holds a secret. */
typedef void verify_report(void *argument, enum verify_field field, size_t index, const char *text);

/* NULL after at least one report. */
struct verify_scheme *verify_scheme_new(const struct verify_spec *spec, verify_report *report,
                                        void *argument);
void verify_scheme_free(struct verify_scheme *scheme); /* takes NULL */

/* Whether `name` is an algorithm that verify_scheme_new() knows. */
bool verify_knows(struct str name);

enum verify_result {
    VERIFY_VALID,
    VERIFY_MISSING, /* a header that the scheme needs is not there */
    VERIFY_BAD,     /* no offered signature fits any secret, or the request is ambiguous */
    VERIFY_STALE,   /* signed well, but too old or too far ahead */
};

/* *secret (may be NULL): which secret matched, from 0; untouched unless VERIFY_VALID or
 * VERIFY_STALE. */
enum verify_result verify_request(struct verify_scheme *scheme, const struct request *request,
                                  size_t *secret);

/* Called for each thing that was found in a request; `step` is a word such as "signature" or
 * "time", `text` one line, which holds no signature and no secret. */
typedef void verify_tell(void *argument, const char *step, const char *text);

/* For people (`inboxctl verify`): what the scheme finds of its parts in a request, whatever the
 * verdict. */
void verify_explain(struct verify_scheme *scheme, const struct request *request, verify_tell *tell,
                    void *argument);

/* Whether a header of that name shows the secret itself, so that its value must not be kept. */
bool verify_shows_secret(const struct verify_scheme *scheme, struct str header);

/* The headers by which a sender with the first secret would sign `request`, at most `max`. `age_s`:
 * how old the timestamp is. `bad`: with one bit of the digest wrong. ERR_NEVER where this scheme's
 * signature does not travel in a header. */
int verify_sign(struct verify_scheme *scheme, const struct request *request, int64_t age_s,
                bool bad, struct arena *arena, struct header *headers, size_t max, size_t *count,
                struct err *err) MUST_CHECK;

#endif
