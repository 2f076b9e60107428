/* Judging a JSON Web Token: its header says which algorithm, the configuration whether that is
 * allowed; then the signature; and only then the claims. */
#include "verify/jwt.h"

#include <stdio.h>

#include "base/codec.h"
#include "base/utf8.h"

/* The three parts of a token, and what is signed of it. */
struct token {
    struct str header, claims, signature, signed_part;
};

/* Strictly: two points, and nothing that base64url is not written with; padding is none of it. */
static bool split(struct str text, struct token *token)
{
    const char *first = memchr(text.ptr, '.', text.len), *second, *end = text.ptr + text.len;

    if (!first || text.len > JWT_MAX || memchr(text.ptr, '=', text.len))
        return false;
    second = memchr(first + 1, '.', (size_t)(end - first - 1));
    if (!second || memchr(second + 1, '.', (size_t)(end - second - 1)))
        return false;
    token->header = (struct str){text.ptr, (size_t)(first - text.ptr)};
    token->claims = (struct str){first + 1, (size_t)(second - first - 1)};
    token->signature = (struct str){second + 1, (size_t)(end - second - 1)};
    token->signed_part = (struct str){text.ptr, (size_t)(second - text.ptr)};
    return true;
}

static bool decode(struct str *text, struct arena *arena)
{
    unsigned char *bytes = (unsigned char *)arena_bytes(arena, text->len + 1);
    ssize_t len =
        codec_base64_decode(*text, BASE64_URL | BASE64_PADDING_OPTIONAL, bytes, text->len);

    *text = (struct str){(const char *)bytes, len < 0 ? 0 : (size_t)len};
    return len > 0;
}

/* ---- judging ---- */

/* The algorithm that the header names, where it is allowed, and the key's id. */
static bool read_header(const struct jwt_scheme *scheme, struct str header, struct arena *arena,
                        enum jwt_algorithm *algorithm, struct str *id)
{
    enum { ALG, KID, CRIT, MEMBERS };
    struct json_value values[MEMBERS];
    struct json_scan scan;
    struct str name;

    if (!json_scan(header, scheme->header, JWT_DEPTH, &scan, values) ||
        scan.value.kind != JSON_KIND_OBJECT || values[ALG].kind != JSON_KIND_STRING ||
        values[CRIT].kind != JSON_KIND_ABSENT)
        return false;
    if (values[KID].kind != JSON_KIND_STRING && values[KID].kind != JSON_KIND_ABSENT)
        return false;
    if (values[KID].kind == JSON_KIND_STRING)
        *id = json_string_text(values[KID].text, arena).bytes;
    name = json_string_text(values[ALG].text, arena).bytes;
    for (size_t i = 0; i < JWT_ALGORITHMS; i++) {
        if (scheme->allowed[i] && str_is(name, jwt_algorithms[i].name)) {
            *algorithm = (enum jwt_algorithm)i;
            return true;
        }
    }
    return false;
}

static enum verify_result judge_token(struct jwt_scheme *scheme, struct str text,
                                      const struct request *request, struct arena *arena,
                                      size_t *secret)
{
    enum jwt_algorithm algorithm;
    struct str id = STR_NONE;
    struct token token;

    if (!split(text, &token) || !decode(&token.header, arena) ||
        !read_header(scheme, token.header, arena, &algorithm, &id))
        return VERIFY_BAD;
    if (!decode(&token.signature, arena) || token.signature.len > JWT_SIGNATURE_MAX ||
        !jwt_keys_fit(&scheme->keys, algorithm, id, token.signed_part, token.signature, secret) ||
        !decode(&token.claims, arena))
        return VERIFY_BAD;
    return jwt_claims_judge(&scheme->claims, token.claims, request, arena);
}

/* A token in any of the places; where several are wrong, the first says how. */
static enum verify_result jwt_judge(void *state, const struct request *request, size_t *secret)
{
    struct jwt_scheme *scheme = state;
    enum verify_result result = VERIFY_MISSING;
    struct arena *arena = arena_new(4096);

    for (size_t i = 0; i < scheme->rule.count && result != VERIFY_VALID; i++) {
        struct str text;
        enum verify_result one = credential_read(&scheme->rule.places[i], request, arena, &text);

        if (one == VERIFY_VALID)
            one = judge_token(scheme, text, request, arena, secret);
        if (one == VERIFY_VALID || result == VERIFY_MISSING)
            result = one;
    }
    arena_free(arena);
    return result;
}

/* ---- the sender's side ---- */

static void put_base64url(struct str bytes, struct buf *out)
{
    char *text = buf_reserve(out, CODEC_BASE64_SIZE(bytes.len));

    codec_base64_encode(bytes.ptr, bytes.len, true, text);
    out->len += strcspn(text, "=");
}

/* With the first secret. */
static void write_token(struct jwt_scheme *scheme, enum jwt_algorithm algorithm, struct str claims,
                        bool bad, struct buf *token)
{
    struct digester *digester = scheme->keys.items[0].digesters[algorithm];
    unsigned char digest[DIGEST_MAX];
    char header[64];
    size_t size;

    snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"typ\":\"JWT\"}",
             jwt_algorithms[algorithm].name);
    put_base64url(str_from(header), token);
    buf_put_char(token, '.');
    put_base64url(claims, token);
    digester_begin(digester);
    digester_add(digester, buf_str(token));
    size = digester_end(digester, digest);
    if (bad)
        digest[0] ^= 1;
    buf_put_char(token, '.');
    put_base64url((struct str){(const char *)digest, size}, token);
}

static int jwt_sign(void *state, const struct request *request, int64_t age_s, bool bad,
                    struct arena *arena, struct header *headers, size_t max, size_t *count,
                    struct err *err)
{
    struct jwt_scheme *scheme = state;
    struct buf token, claims;
    size_t algorithm = 0;
    int rc;

    while (algorithm < JWT_SHARED && !scheme->allowed[algorithm])
        algorithm++;
    if (algorithm == JWT_SHARED || max == 0)
        return err_set(err, ERR_NEVER, "cannot sign: the private key is the sender's alone");
    buf_init(&token, BUF_NO_CAP);
    buf_init(&claims, BUF_NO_CAP);
    jwt_claims_write(&scheme->claims, request, request->received_us - age_s * 1000000, arena,
                     &claims);
    write_token(scheme, (enum jwt_algorithm)algorithm, buf_str(&claims), bad, &token);
    rc = credential_write(&scheme->rule, buf_str(&token), arena, headers, err);
    if (rc == 0)
        *count = 1;
    buf_release(&claims);
    buf_release(&token);
    return rc;
}

/* A token that says nothing of the body is as good as a secret for as long as it is valid. */
static bool jwt_shows(const void *state, struct str header)
{
    const struct jwt_scheme *scheme = state;

    return !jwt_claims_cover_body(&scheme->claims) && credential_in(&scheme->rule, header);
}

/* ---- for people ---- */

static void explain_algorithm(const struct jwt_scheme *scheme, struct str header,
                              struct arena *arena, const struct scheme_teller *teller)
{
    struct json_value values[3]; /* as read_header() has them */
    enum jwt_algorithm algorithm;
    struct str id = STR_NONE, name = STR("no text");
    struct json_scan scan;

    if (!json_scan(header, scheme->header, JWT_DEPTH, &scan, values)) {
        scheme_tell(teller, "signature", "the token's header is no JSON");
        return;
    }
    if (values[0].kind == JSON_KIND_STRING)
        name = utf8_cut(json_string_text(values[0].text, arena).bytes, 20);
    if (values[2].kind != JSON_KIND_ABSENT)
        scheme_tell(teller, "signature", "the token has \"crit\", which is always refused");
    scheme_tell(teller, "signature", "the token's algorithm is %.*s, which is %s", STR_ARG(name),
                read_header(scheme, header, arena, &algorithm, &id) ? "allowed" : "not allowed");
    if (values[1].kind == JSON_KIND_STRING)
        scheme_tell(teller, "signature", "it names a key by its kid");
}

static void explain_token(const struct jwt_scheme *scheme, struct str text,
                          const struct request *request, struct arena *arena,
                          const struct scheme_teller *teller)
{
    static const char *const verdicts[] = {
        [VERIFY_VALID] = "are as they have to be",
        [VERIFY_MISSING] = "are not all there",
        [VERIFY_BAD] = "are not what they have to be, or not all there",
        [VERIFY_STALE] = "are over, or have not begun",
    };
    struct token token;

    if (!split(text, &token) || !decode(&token.header, arena) || !decode(&token.claims, arena)) {
        scheme_tell(teller, "signature", "that is no JSON Web Token: HEADER.CLAIMS.SIGNATURE");
        return;
    }
    explain_algorithm(scheme, token.header, arena, teller);
    scheme_tell(teller, "claims", "they %s, whatever the signature",
                verdicts[jwt_claims_judge(&scheme->claims, token.claims, request, arena)]);
    jwt_claims_explain(&scheme->claims, token.claims, request, arena, teller);
    scheme_tell(teller, "signed", "the claims%s",
                jwt_claims_cover_body(&scheme->claims) ? ", and by them the body"
                                                       : ", and nothing of the body");
}

static void jwt_explain(void *state, const struct request *request,
                        const struct scheme_teller *teller)
{
    const struct jwt_scheme *scheme = state;
    struct arena *arena = arena_new(4096);

    credential_explain(&scheme->rule, request, teller);
    for (size_t i = 0; i < scheme->rule.count; i++) {
        struct str text;

        if (credential_read(&scheme->rule.places[i], request, arena, &text) == VERIFY_VALID)
            explain_token(scheme, text, request, arena, teller);
    }
    arena_free(arena);
}

const struct scheme_kind scheme_jwt = {
    .names = (const char *const[]){"jwt", NULL},
    .reads = SCHEME_READS(VERIFY_SIGNATURE) | SCHEME_READS(VERIFY_TIMESTAMP) |
             SCHEME_READS(VERIFY_ALGORITHMS) | SCHEME_READS(VERIFY_CLAIMS) |
             SCHEME_READS(VERIFY_BODY_UNAUTHENTICATED),
    .compile = jwt_compile,
    .judge = jwt_judge,
    .sign = jwt_sign,
    .shows = jwt_shows,
    .explain = jwt_explain,
    .free = jwt_free,
};
