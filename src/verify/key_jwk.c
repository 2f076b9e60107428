/* JSON Web Keys (RFC 7517, RFC 7518 section 6, RFC 8037), one at a time. Members that say what the
 * key is for are taken at their word: a key for encryption or for another algorithm is refused. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/json.h"
#include "verify/key_parts.h"

#define NUMBER_MAX 1032 /* bytes of an RSA modulus: a little more than key_judge() lets through */
#define SYMMETRIC_MIN 8
#define COORDINATE 32

enum member { KTY, CRV, X, Y, N, E, K, D, KID, ALG, USE, MEMBERS };

struct jwk {
    struct str text;
    struct str members[MEMBERS]; /* ptr NULL: not there, or no text */
    struct arena *arena;         /* of members that were written with escapes */
};

static bool jwk_begin(struct jwk *jwk, struct str text, struct err *err)
{
    static const char *const names[MEMBERS] = {"/kty", "/crv", "/x",   "/y",   "/n",  "/e",
                                               "/k",   "/d",   "/kid", "/alg", "/use"};
    struct json_value values[MEMBERS];
    struct str pointers[MEMBERS];
    struct json_paths *paths;
    struct json_scan scan;
    bool read;

    for (size_t i = 0; i < MEMBERS; i++)
        pointers[i] = str_from(names[i]);
    *jwk = (struct jwk){.text = text, .arena = arena_new(4096)};
    paths = json_paths_new(pointers, MEMBERS, err);
    read = paths && json_scan(text, paths, JSON_DEPTH_DEFAULT, &scan, values);
    for (size_t i = 0; read && i < MEMBERS; i++)
        if (values[i].kind == JSON_KIND_STRING)
            jwk->members[i] = json_string_text(values[i].text, jwk->arena).bytes;
    json_paths_free(paths);
    if (read && jwk->members[KTY].ptr)
        return true;
    err_set(err, ERR_INPUT,
            "is not a JSON Web Key, such as {\"kty\":\"EC\",\"crv\":\"P-256\",...}");
    return false;
}

/* Copies are wiped: a symmetric key is a secret, and so is what should not have been there. */
static void jwk_end(struct jwk *jwk)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        struct str member = jwk->members[i];

        if (member.ptr &&
            (member.ptr < jwk->text.ptr || member.ptr >= jwk->text.ptr + jwk->text.len))
            secret_wipe((void *)(uintptr_t)member.ptr, member.len);
    }
    arena_free(jwk->arena);
}

/* The bytes of a member in base64url without padding; 0 where it is not that. */
static size_t bytes_of(const struct jwk *jwk, enum member member, unsigned char *out, size_t max)
{
    struct str text = jwk->members[member];
    ssize_t len = text.ptr && !memchr(text.ptr, '=', text.len)
                      ? codec_base64_decode(text, BASE64_URL | BASE64_PADDING_OPTIONAL, out, max)
                      : -1;

    return len < 0 ? 0 : (size_t)len;
}

/* ---- kinds ---- */

static EVP_PKEY *pkey_from(const char *type, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *pkey = NULL;

    if (params && context && EVP_PKEY_fromdata_init(context) == 1 &&
        EVP_PKEY_fromdata(context, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
        pkey = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return pkey;
}

static struct verify_key *read_ec(const struct jwk *jwk, struct err *err)
{
    unsigned char point[1 + 2 * COORDINATE] = {4};
    OSSL_PARAM_BLD *builder;
    EVP_PKEY *pkey = NULL;

    if (bytes_of(jwk, X, point + 1, COORDINATE) != COORDINATE ||
        bytes_of(jwk, Y, point + 1 + COORDINATE, COORDINATE) != COORDINATE) {
        err_set(err, ERR_INPUT, "is an EC key whose x and y are not 32 bytes in base64url");
        return NULL;
    }
    builder = OSSL_PARAM_BLD_new();
    if (builder &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) ==
            1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) ==
            1)
        pkey = pkey_from("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    if (pkey)
        return key_judge(pkey, err);
    err_set(err, ERR_INPUT, "is an EC key whose point is not on P-256");
    return NULL;
}

static struct verify_key *read_rsa(const struct jwk *jwk, struct err *err)
{
    unsigned char modulus[NUMBER_MAX], exponent[8];
    size_t modulus_len = bytes_of(jwk, N, modulus, sizeof(modulus));
    size_t exponent_len = bytes_of(jwk, E, exponent, sizeof(exponent));
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_len, NULL);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_len, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;

    if (modulus_len && exponent_len && n && e && builder &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        pkey = pkey_from("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(n);
    BN_free(e);
    if (pkey)
        return key_judge(pkey, err);
    err_set(err, ERR_INPUT, "is an RSA key whose n and e are not numbers in base64url");
    return NULL;
}

static struct verify_key *read_okp(const struct jwk *jwk, struct err *err)
{
    unsigned char bytes[COORDINATE];

    if (bytes_of(jwk, X, bytes, sizeof(bytes)) == COORDINATE)
        return key_from_ed25519(bytes, err);
    err_set(err, ERR_INPUT, "is an Ed25519 key whose x is not 32 bytes in base64url");
    return NULL;
}

static const struct kind {
    const char *type, *curve;          /* curve NULL: has none */
    const char *algorithm, *otherwise; /* what "alg" may say */
    struct verify_key *(*read)(const struct jwk *jwk, struct err *err);
} kinds[] = {
    {"EC", "P-256", "ES256", NULL, read_ec},
    {"RSA", NULL, "RS256", NULL, read_rsa},
    {"OKP", "Ed25519", "EdDSA", "Ed25519", read_okp},
};

static const struct kind *kind_of(const struct jwk *jwk)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(jwk->members[KTY], kinds[i].type) &&
            (!kinds[i].curve || str_is(jwk->members[CRV], kinds[i].curve)))
            return &kinds[i];
    return NULL;
}

/* ---- what it is for ---- */

static bool is_for_signatures(const struct jwk *jwk, struct err *err)
{
    if (!jwk->members[USE].ptr || str_is(jwk->members[USE], "sig"))
        return true;
    err_set(err, ERR_INPUT, "is a key that is not for signatures (its \"use\" is not \"sig\")");
    return false;
}

static bool is_for_kind(const struct jwk *jwk, const struct kind *kind, struct err *err)
{
    struct str algorithm = jwk->members[ALG];

    if (!algorithm.ptr || str_is(algorithm, kind->algorithm) ||
        (kind->otherwise && str_is(algorithm, kind->otherwise)))
        return true;
    err_set(err, ERR_INPUT, "is a key for another algorithm than %s (its \"alg\")",
            kind->algorithm);
    return false;
}

static struct verify_key *read_public(const struct jwk *jwk, struct err *err)
{
    const struct kind *kind = kind_of(jwk);
    struct verify_key *key;

    if (jwk->members[D].ptr) {
        err_set(err, ERR_INPUT,
                "holds a private key (\"d\"), which nobody but the sender should have; give the "
                "public one");
        return NULL;
    }
    if (!kind) {
        err_set(err, ERR_INPUT,
                "is a JSON Web Key of another kind than EC on P-256, RSA and OKP on Ed25519");
        return NULL;
    }
    if (!is_for_signatures(jwk, err) || !is_for_kind(jwk, kind, err))
        return NULL;
    key = kind->read(jwk, err);
    if (key && jwk->members[KID].ptr)
        key->id = mem_copy(jwk->members[KID]);
    return key;
}

struct verify_key *key_read_jwk(struct str text, struct err *err)
{
    struct verify_key *key = NULL;
    struct jwk jwk;

    if (jwk_begin(&jwk, text, err))
        key = read_public(&jwk, err);
    jwk_end(&jwk);
    ERR_clear_error();
    return key;
}

static struct secret *read_symmetric(const struct jwk *jwk, struct err *err)
{
    unsigned char bytes[1024];
    struct secret *secret = NULL;
    size_t len = bytes_of(jwk, K, bytes, sizeof(bytes));

    if (len < SYMMETRIC_MIN)
        err_set(err, ERR_INPUT, "is a JSON Web Key whose k is not %d bytes or more in base64url",
                SYMMETRIC_MIN);
    else
        secret = secret_new((struct str){(const char *)bytes, len});
    secret_wipe(bytes, sizeof(bytes));
    return secret;
}

struct secret *verify_key_read_oct(struct str text, struct err *err)
{
    struct secret *secret = NULL;
    struct jwk jwk;

    if (jwk_begin(&jwk, text, err)) {
        if (!str_is(jwk.members[KTY], "oct"))
            err_set(
                err, ERR_INPUT,
                "is a public key, which everybody may know; a keyed digest wants \"kty\":\"oct\"");
        else if (is_for_signatures(&jwk, err))
            secret = read_symmetric(&jwk, err);
    }
    jwk_end(&jwk);
    return secret;
}
