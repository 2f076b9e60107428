/* `verify = jwt`: a JSON Web Token (RFC 7519) in its compact form. Its compiled parts, shared by
 * its files: jwt_compile.c makes it, jwt_keys.c has the keys, jwt_claims.c the claims, jwt.c judges
 * and signs.
 *
 * What makes it safe: the configuration lists the algorithms, and a token of another one is refused
 * before a key is looked at; a key is only ever used with the algorithm of its kind, so that no
 * public key becomes the secret of an HMAC; claims are read only once the signature is right; what
 * may be critical ("crit") is refused, since nothing of it is known here. */
#ifndef VERIFY_JWT_H
#define VERIFY_JWT_H

#include "base/buf.h"
#include "base/json.h"
#include "verify/credential.h"
#include "verify/key.h"
#include "verify/scheme.h"
#include "verify/timestamp.h"

#define JWT_MAX 16384          /* bytes of a whole token */
#define JWT_DEPTH 32           /* of its header and of its claims */
#define JWT_SIGNATURE_MAX 1024 /* bytes: of the largest RSA key */
#define JWT_KEYS_MAX 32        /* of all secrets together */

enum jwt_algorithm { JWT_HS256, JWT_HS384, JWT_HS512, JWT_ES256, JWT_RS256 };

#define JWT_ALGORITHMS 5
#define JWT_SHARED 3 /* the first of them: both sides have the same secret */

struct jwt_algorithm_info {
    const char *name;
    enum digest digest;
    enum verify_key_kind key; /* behind JWT_SHARED */
};

extern const struct jwt_algorithm_info jwt_algorithms[JWT_ALGORITHMS];

/* ---- keys ---- */

struct jwt_key {
    size_t secret;                          /* which of the configured ones it comes from */
    struct verify_key *public;              /* NULL: a shared secret, and then */
    struct digester *digesters[JWT_SHARED]; /* for the algorithms that are allowed */
};

struct jwt_keys {
    struct jwt_key items[JWT_KEYS_MAX];
    size_t count;
    struct digester *hash; /* what public keys check: of SHA-256; NULL: there are none */
};

/* In place. `allowed`: for each algorithm. */
void jwt_keys_compile(struct jwt_keys *keys, const struct verify_spec *spec, const bool *allowed,
                      struct scheme_mistakes *mistakes);
void jwt_keys_release(struct jwt_keys *keys);

/* Whether a key fits: those of that "kid" and those that have none, or all where `id` is absent.
 * *secret: where the key comes from. */
bool jwt_keys_fit(struct jwt_keys *keys, enum jwt_algorithm algorithm, struct str id,
                  struct str signed_part, struct str signature, size_t *secret);

/* ---- claims ---- */

enum claim_rule {
    CLAIM_THERE,       /* whatever it says */
    CLAIM_TEXT,        /* that text; "aud" may be a list that holds it */
    CLAIM_URL,         /* public_url with the query that was received */
    CLAIM_URL_SHA256,  /* its SHA-256 in hexadecimal */
    CLAIM_BODY_SHA256, /* that of the body */
};

struct claim {
    struct str name;
    enum claim_rule rule;
    struct str text;
    bool with_body; /* has to be there exactly where there is a body */
    size_t path;    /* its number in the pointers */
};

#define CLAIMS_MAX (JSON_PATHS_MAX - 3)

struct jwt_claims {
    struct claim items[CLAIMS_MAX];
    size_t count;
    struct str public_url;
    bool timed; /* `timestamp` names a claim */
    enum time_unit unit;
    struct str time_name;
    size_t time, expires, not_before;      /* their numbers in the pointers */
    int64_t past_us, future_us, leeway_us; /* past_us 0: no window */
    struct str pointers[JSON_PATHS_MAX];
    size_t pointer_count;
    struct json_paths *paths;
};

/* In place; texts live in `arena`. */
void jwt_claims_compile(struct jwt_claims *claims, const struct verify_spec *spec,
                        struct arena *arena, struct scheme_mistakes *mistakes);
void jwt_claims_release(struct jwt_claims *claims);

/* Whether one of them is the body's digest. */
bool jwt_claims_cover_body(const struct jwt_claims *claims);

/* `document`: the token's claims, whose signature is right. Texts before times, so that what is
 * wrong is called wrong however old it is. */
enum verify_result jwt_claims_judge(const struct jwt_claims *claims, struct str document,
                                    const struct request *request, struct arena *arena);

/* Each claim that does not hold, and each time. */
void jwt_claims_explain(const struct jwt_claims *claims, struct str document,
                        const struct request *request, struct arena *arena,
                        const struct scheme_teller *teller);

/* The claims that a sender would write at `now_us`. */
void jwt_claims_write(const struct jwt_claims *claims, const struct request *request,
                      int64_t now_us, struct arena *arena, struct buf *out);

/* ---- the whole ---- */

struct jwt_scheme {
    struct arena *arena;
    struct credential_rule rule;
    bool allowed[JWT_ALGORITHMS];
    struct jwt_keys keys;
    struct jwt_claims claims;
    struct json_paths *header; /* alg, kid, crit */
};

void *jwt_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes);
void jwt_free(void *state);

#endif
