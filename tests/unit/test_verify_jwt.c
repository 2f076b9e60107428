/* JSON Web Tokens: which are taken, and every way in which one was ever let through that should not
 * have been: keys, algorithms and forms. What they say is test_verify_claims.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>

#include "tokens.h"

static EVP_PKEY *ec, *rsa, *other_ec;

static int prepare(void **state)
{
    (void)state;
    ec = signer_key("P-256");
    other_ec = signer_key("P-256");
    rsa = signer_key("RSA2048");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    EVP_PKEY_free(ec);
    EVP_PKEY_free(other_ec);
    EVP_PKEY_free(rsa);
    return 0;
}

/* ---- tokens with public keys ---- */

static const char *rs256(EVP_PKEY *key, const char *header, const char *claims)
{
    unsigned char signature[512];
    const char *part = signed_part(header, claims);
    size_t len = signer_sign(key, EVP_sha256(), str_from(part), signature, sizeof(signature));

    return with_signature(part, signature, len);
}

/* r and s side by side, as a JSON Web Signature has them; `der`: as everybody else has them. */
static const char *es256(EVP_PKEY *key, const char *header, const char *claims, bool der)
{
    unsigned char signature[512], raw[64];
    const unsigned char *at = signature;
    const char *part = signed_part(header, claims);
    size_t len = signer_sign(key, EVP_sha256(), str_from(part), signature, sizeof(signature));
    ECDSA_SIG *pair;

    if (der)
        return with_signature(part, signature, len);
    pair = d2i_ECDSA_SIG(NULL, &at, (long)len);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32), 32);
    ECDSA_SIG_free(pair);
    return with_signature(part, raw, sizeof(raw));
}

/* ---- what can be configured ---- */

#define NAMES_WRITTEN                                                                              \
    "claims: are written NAME, NAME=TEXT or NAME='TEXT WITH BLANKS', with blanks between them\n"
#define TIME_WRITTEN                                                                               \
    "timestamp: is written claim:NAME s or claim:NAME ms, such as timestamp = claim:iat s\n"

static void test_every_mistake(void **state)
{
    static const struct {
        struct scheme scheme;
        const char *want;
    } cases[] = {
        {{0}, ""},
        {{.algorithms = "HS256 HS384\tHS512"}, ""},
        {{.claims = "iss='Online JWT Builder' exp nbf iat  sub=  "}, NAMES_WRITTEN},
        {{.claims = "iss='Online JWT Builder' exp nbf iat aud={url} u={sha256hex:url} sub=''"}, ""},
        {{.claims = "sha256={sha256hex:body}", .covered = true}, ""},
        {{.claims = "p?={sha256hex:body}", .covered = true}, ""},
        {{.timestamp = "claim:iat s"}, ""},
        {{.timestamp = "claim:https://a/b~c ms"}, ""},
        {{.signature = ""},
         "signature: is missing; write, for example, signature = header:Authorization prefix "
         "Bearer\n"},
        {{.signature = "json:/a"},
         "signature: \"json:/a\" is no place; write header:NAME or query:NAME\n"},
        {{.algorithms = ""}, "algorithms: is missing; write, for example, algorithms = HS256\n"},
        {{.algorithms = " "},
         "algorithms: names none; there are HS256, HS384, HS512, ES256 and "
         "RS256\n"},
        {{.algorithms = "none"}, "algorithms: cannot be none, or anybody could write a token\n"},
        {{.algorithms = "HS256 None"},
         "algorithms: cannot be none, or anybody could write a token\n"},
        {{.algorithms = "hs256"},
         "algorithms: cannot use \"hs256\"; there are HS256, HS384, HS512, "
         "ES256 and RS256\n"},
        {{.algorithms = "HS256,HS384"},
         "algorithms: cannot use \"HS256,HS384\"; there are HS256, "
         "HS384, HS512, ES256 and RS256\n"},
        {{.algorithms = "PS256"},
         "algorithms: cannot use \"PS256\"; there are HS256, HS384, HS512, "
         "ES256 and RS256\n"},
        {{.algorithms = "HS256 RS256"},
         "algorithms: mixes shared secrets (HS) with public keys (ES, RS); no secret is both\n"},
        {{.claims = "="}, NAMES_WRITTEN},
        {{.claims = "iss="}, NAMES_WRITTEN},
        {{.claims = "?=x"}, NAMES_WRITTEN},
        {{.claims = "iss='a"}, NAMES_WRITTEN},
        {{.claims = "iss='a'b"}, NAMES_WRITTEN},
        {{.claims = "a={body}"},
         "claims: cannot use {body}; there are {url}, {sha256hex:url} and "
         "{sha256hex:body}\n"},
        {{.claims = "a?={url}"}, "claims: have ?= only in front of {sha256hex:body}\n"},
        {{.claims = "exp=300"},
         "claims: have exp without a value: it is a time, and is always looked at\n"},
        {{.claims = "nbf=300"},
         "claims: have nbf without a value: it is a time, and is always looked at\n"},
        {{.claims = "iss=a iss=b"}, "claims: have iss twice\n"},
        {{.claims = "a b c d e f g h i j k l m n"}, "claims: are more than 13\n"},
        {{.claims = "aud={url}", .url = ""},
         "public_url: is missing, but `claims` use it; write "
         "the URL as the provider knows it\n"},
        {{.claims = "u={sha256hex:url}", .url = ""},
         "public_url: is missing, but `claims` use it; write the URL as the provider knows it\n"},
        {{.url = "h.example"}, "public_url: has to begin with https:// or http://\n"},
        {{.timestamp = "header:T s"}, TIME_WRITTEN},
        {{.timestamp = "claim: s"}, TIME_WRITTEN},
        {{.timestamp = "claim:iat"}, TIME_WRITTEN},
        {{.timestamp = "claim:iat iso8601"}, TIME_WRITTEN},
        {{.timestamp = "claim:iat s x"}, TIME_WRITTEN},
        {{.covered = true},
         "claims: do not cover the body, so anybody who sees a token could change it; name the "
         "claim that has its digest, such as sha256={sha256hex:body}, or write "
         "body_unauthenticated = yes\n"},
        {{.claims = "sha256={sha256hex:body}"},
         "body_unauthenticated: is yes, but `claims` cover the body; take it away\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_spec spec = spec_of(&cases[i].scheme);

        assert_said(&spec, cases[i].want);
    }
}

static void test_settings_of_other_kinds(void **state)
{
    struct verify_spec spec = spec_of(&(struct scheme){0});
    struct str secret = STR(K0);

    (void)state;
    spec.signed_template = STR("{body}");
    spec.vars = STR("a=b");
    assert_said(&spec, "signed: is not used by this kind of verification; take it away\n"
                       "vars: is not used by this kind of verification; take it away\n");
    assert_said(&(struct verify_spec){.algorithm = STR("hmac-sha256"),
                                      .signature = STR("header:A hex"),
                                      .signed_template = STR("{body}"),
                                      .algorithms = STR("HS256"),
                                      .claims = STR("exp"),
                                      .secrets = &secret,
                                      .secret_count = 1},
                "algorithms: is not used by this kind of verification; take it away\n"
                "claims: is not used by this kind of verification; take it away\n");
    assert_said(&(struct verify_spec){.algorithm = STR("twilio"),
                                      .public_url = STR(URL),
                                      .body_unauthenticated = STR("yes"),
                                      .secrets = &secret,
                                      .secret_count = 1},
                "body_unauthenticated: is not used by this kind of verification; take it away\n");
    assert_said(&(struct verify_spec){.algorithm = STR("twilio"),
                                      .public_url = STR(URL),
                                      .body_unauthenticated = STR("maybe"),
                                      .secrets = &secret,
                                      .secret_count = 1},
                "body_unauthenticated: is yes or no\n");
}

static void assert_secret_said(const char *algorithms, const char *encoding, const char *secret,
                               const char *want)
{
    struct str text = str_from(secret);
    struct verify_spec spec = spec_of(&(struct scheme){
        .algorithms = algorithms, .encoding = encoding, .secrets = &text, .secret_count = 1});

    assert_said(&spec, want);
}

static void test_every_mistake_of_a_secret(void **state)
{
    struct str none = STR("");
    struct verify_spec spec = spec_of(&(struct scheme){.secrets = &none});

    (void)state;
    assert_said(&spec, "secret: is missing; write secret = file:PATH\n");
    spec.algorithms = STR("RS256");
    spec.secret_encoding = STR("spki");
    assert_said(&spec, "secret: is missing; write secret = file:PATH with the sender's public "
                       "key\n");
    assert_secret_said("HS256", "raw", "", "secret: is empty, so anybody could sign\n");
    assert_secret_said("HS256", "hex", "00112233",
                       "secret: decodes to 4 bytes; it needs at least "
                       "8\n");
    assert_secret_said("HS256", "raw", "-----BEGIN PUBLIC KEY-----\nMFkw\n",
                       "secret: is a key in PEM, which everybody may know; it is for algorithms = "
                       "ES256 or RS256\n");
    assert_secret_said("HS256", "raw", "{\"kty\":\"EC\"}",
                       "secret: is a JSON Web Key; write secret_encoding = jwk\n");
    assert_secret_said("HS256", "jwk", "{\"kty\":\"EC\"}",
                       "secret: is a public key, which everybody may know; a keyed digest wants "
                       "\"kty\":\"oct\"\n");
    assert_secret_said("HS256", "spki", "x",
                       "secret_encoding: is how a public key is written, with which anybody could "
                       "sign; a secret is written as raw, hex, base64, whsec or jwk\n");
    assert_secret_said("ES256", "raw", "0123456789abcdef",
                       "secret_encoding: is not how the public key of an ES or RS algorithm is "
                       "written; write spki, pem-cert or jwk\n");
    assert_secret_said("ES256", "ed25519-hex", "00",
                       "secret_encoding: is not how the public key of an ES or RS algorithm is "
                       "written; write spki, pem-cert or jwk\n");
    assert_secret_said("ES256", "spki", signer_spki(ec).ptr, "");
    assert_secret_said("ES256 RS256", "spki", signer_spki(rsa).ptr, "");
    assert_secret_said("ES256", "spki", signer_spki(rsa).ptr,
                       "secret: is an RSA key, which is not for algorithms = ES256\n");
    assert_secret_said("RS256", "spki", signer_spki(ec).ptr,
                       "secret: is an EC key on P-256, which is not for algorithms = RS256\n");
    assert_secret_said("ES256", "jwk", "{\"keys\":[]}", "secret: is an empty set of keys\n");
    assert_secret_said("ES256", "jwk", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAAAAAAAAAAAAAA\"}]}",
                       "secret: is a set without a key that fits; the last one: is a JSON Web Key "
                       "of another kind than EC on P-256, RSA and OKP on Ed25519\n");
}

/* ---- algorithms ---- */

static void test_the_three_keyed_algorithms(void **state)
{
    static const struct {
        const char *name, *header;
        const EVP_MD *(*md)(void);
    } algorithms[] = {{"HS256", "{\"alg\":\"HS256\"}", EVP_sha256},
                      {"HS384", "{\"alg\":\"HS384\"}", EVP_sha384},
                      {"HS512", "{\"alg\":\"HS512\"}", EVP_sha512}};
    size_t n = ARRAY_LEN(algorithms);

    (void)state;
    for (size_t i = 0; i < n * n * n; i++) {
        size_t allowed = i % n, named = i / n % n, used = i / n / n;
        struct scheme one = {.algorithms = algorithms[allowed].name};
        struct scheme all = {.algorithms = "HS512 HS384 HS256"};

        judge(&one, keyed(algorithms[used].md(), STR(K0), algorithms[named].header, "{}"),
              allowed == named && named == used ? VERIFY_VALID : VERIFY_BAD);
        judge(&all, keyed(algorithms[used].md(), STR(K0), algorithms[named].header, "{}"),
              named == used ? VERIFY_VALID : VERIFY_BAD);
    }
}

static void test_algorithm_none(void **state)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\"}",
        "{\"alg\":\"NONE\"}",
        "{\"alg\":\"\"}",
        "{}",
        "{\"alg\":null}",
        "{\"alg\":0}",
        "{\"alg\":[\"HS256\"]}",
        "{\"alg\":\"hs256\"}",
        "{\"alg\":\"HS256 \"}",
        "{\"Alg\":\"HS256\"}",
        "{\"alg\":\"HS256\\u0000\"}",
        "[\"HS256\"]",
        "\"HS256\"",
        "{\"alg\":\"HS256\",\"alg\":\"none\"}",
    };
    struct scheme scheme = {0};
    char token[32768];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        judge(&scheme, keyed(EVP_sha256(), STR(K0), headers[i], "{}"), VERIFY_BAD);
        snprintf(token, sizeof(token), "%s.", signed_part(headers[i], "{}"));
        judge(&scheme, token, VERIFY_BAD);
        snprintf(token, sizeof(token), "%s", signed_part(headers[i], "{}"));
        judge(&scheme, token, VERIFY_BAD);
    }
    /* Escapes and a last member are read as everywhere. */
    judge(&scheme,
          keyed(EVP_sha256(), STR(K0),
                "{\"alg\":\"none\",\"\\u0061lg\":\"HS\\u0032"
                "56\"}",
                "{}"),
          VERIFY_VALID);
}

static void test_a_public_key_is_never_the_secret_of_an_hmac(void **state)
{
    struct str spki = str_from(mem_copy(signer_spki(ec)));
    struct scheme scheme = {
        .algorithms = "ES256", .encoding = "spki", .secrets = &spki, .secret_count = 1};

    (void)state;
    judge(&scheme, es256(ec, "{\"alg\":\"ES256\"}", "{}", false), VERIFY_VALID);
    judge(&scheme, keyed(EVP_sha256(), spki, HS256, "{}"), VERIFY_BAD);
    judge(&scheme, keyed(EVP_sha256(), spki, "{\"alg\":\"ES256\"}", "{}"), VERIFY_BAD);
    free((void *)(uintptr_t)spki.ptr);
}

static void test_es256(void **state)
{
    static const unsigned char zeros[64];
    struct str spki = str_from(mem_copy(signer_spki(ec)));
    struct scheme scheme = {
        .algorithms = "ES256", .encoding = "spki", .secrets = &spki, .secret_count = 1};
    const char *header = "{\"alg\":\"ES256\"}";

    (void)state;
    for (int i = 0; i < 20; i++) /* r and s with leading zeros and leading ones */
        judge(&scheme, es256(ec, header, i % 2 ? "{}" : "{\"a\":1}", false), VERIFY_VALID);
    judge(&scheme, es256(ec, header, "{}", true), VERIFY_BAD);
    judge(&scheme, es256(other_ec, header, "{}", false), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"RS256\"}", "{}", false), VERIFY_BAD);
    judge(&scheme, with_signature(signed_part(header, "{}"), zeros, 64), VERIFY_BAD);
    judge(&scheme, with_signature(signed_part(header, "{}"), zeros, 63), VERIFY_BAD);
    judge(&scheme, with_signature(signed_part(header, "{}"), zeros, 1), VERIFY_BAD);
    free((void *)(uintptr_t)spki.ptr);
}

static void test_rs256_and_keys_of_both_kinds(void **state)
{
    struct str keys[2] = {str_from(mem_copy(signer_spki(ec))),
                          str_from(mem_copy(signer_spki(rsa)))};
    struct scheme scheme = {
        .algorithms = "ES256 RS256", .encoding = "spki", .secrets = keys, .secret_count = 2};

    (void)state;
    judge_as(&scheme, rs256(rsa, "{\"alg\":\"RS256\"}", "{}"), VERIFY_VALID, 1);
    judge_as(&scheme, es256(ec, "{\"alg\":\"ES256\"}", "{}", false), VERIFY_VALID, 0);
    /* A key is only used with the algorithm of its kind. */
    judge(&scheme, rs256(rsa, "{\"alg\":\"ES256\"}", "{}"), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"RS256\"}", "{}", false), VERIFY_BAD);
    judge(&scheme, rs256(rsa, "{\"alg\":\"RS512\"}", "{}"), VERIFY_BAD);
    free((void *)(uintptr_t)keys[0].ptr);
    free((void *)(uintptr_t)keys[1].ptr);
}

/* ---- keys with names ---- */

static const char *jwk_of(EVP_PKEY *key, const char *id)
{
    static char texts[4][512];
    static size_t next;
    unsigned char point[65];
    size_t len = 0;
    char *text = texts[next++ % 4];

    assert_int_equal(
        EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point, 65, &len),
        1);
    snprintf(text, 512, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"%s%s%s}",
             signer_base64(point + 1, 32, true, false).ptr,
             signer_base64(point + 33, 32, true, false).ptr, id ? ",\"kid\":\"" : "", id ? id : "",
             id ? "\"" : "");
    return text;
}

static void test_kid_picks_among_the_keys(void **state)
{
    char set[2048];
    struct str secret;
    struct scheme scheme = {
        .algorithms = "ES256", .encoding = "jwk", .secrets = &secret, .secret_count = 1};
    const char *one = "{\"alg\":\"ES256\",\"kid\":\"one\"}";
    const char *two = "{\"alg\":\"ES256\",\"kid\":\"two\"}";

    (void)state;
    snprintf(set, sizeof(set), "{\"keys\":[%s,{\"kty\":\"oct\"},%s,7]}", jwk_of(ec, "one"),
             jwk_of(other_ec, "two"));
    secret = str_from(set);
    judge(&scheme, es256(ec, one, "{}", false), VERIFY_VALID);
    judge(&scheme, es256(other_ec, two, "{}", false), VERIFY_VALID);
    judge(&scheme, es256(ec, two, "{}", false), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"ES256\",\"kid\":\"three\"}", "{}", false), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"ES256\",\"kid\":\"\"}", "{}", false), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"ES256\",\"kid\":1}", "{}", false), VERIFY_BAD);
    judge(&scheme, es256(ec, "{\"alg\":\"ES256\",\"kid\":null}", "{}", false), VERIFY_BAD);
    /* A token that names none is tried with all, a key without name is tried with all tokens. */
    judge(&scheme, es256(other_ec, "{\"alg\":\"ES256\"}", "{}", false), VERIFY_VALID);
    secret = str_from(jwk_of(ec, NULL));
    judge(&scheme, es256(ec, one, "{}", false), VERIFY_VALID);
    judge(&scheme, es256(other_ec, one, "{}", false), VERIFY_BAD);
    secret = str_from(jwk_of(ec, "one"));
    judge(&scheme, es256(ec, one, "{}", false), VERIFY_VALID);
    judge(&scheme, es256(ec, two, "{}", false), VERIFY_BAD);
}

static void test_a_set_has_at_most_32_keys(void **state)
{
    struct buf set;

    (void)state;
    for (int count = 32; count <= 33; count++) {
        buf_init(&set, BUF_NO_CAP);
        buf_printf(&set, "{\"keys\":[");
        for (int i = 0; i < count; i++)
            buf_printf(&set, "%s%s", i ? "," : "", jwk_of(ec, "one"));
        buf_printf(&set, "]}");
        buf_put_char(&set, '\0');
        assert_secret_said("ES256", "jwk", set.data,
                           count == 32 ? ""
                                       : "secret: makes more than 32 keys; take away those that "
                                         "are no longer used\n");
        buf_release(&set);
    }
}

static void test_several_secrets(void **state)
{
    static const struct str both[] = {STR(K1), STR(K0)};
    struct scheme scheme = {.secrets = both, .secret_count = 2, .algorithms = "HS256 HS512"};
    struct scheme other = {.secrets = both, .secret_count = 1};

    (void)state;
    judge_as(&scheme, hs256("{}"), VERIFY_VALID, 1);
    judge_as(&scheme, keyed(EVP_sha256(), STR(K1), HS256, "{}"), VERIFY_VALID, 0);
    judge_as(&scheme, hs256("{\"exp\":1}"), VERIFY_STALE, 1);
    judge(&other, hs256("{}"), VERIFY_BAD);
    judge(&scheme, keyed(EVP_sha256(), STR("k0"), HS256, "{}"), VERIFY_BAD);
}

/* ---- forms of a token ---- */

static void test_a_token_in_every_wrong_form(void **state)
{
    struct scheme scheme = {0};
    const char *good = mem_copy(str_from(hs256("{\"a\":1}")));
    const char *first = strchr(good, '.'), *second = strchr(first + 1, '.');
    char *bad[] = {
        mem_printf("%.*s", (int)(first - good), good),
        mem_printf("%.*s", (int)(first + 1 - good), good),
        mem_printf("%.*s", (int)(second - good), good),
        mem_printf("%.*s", (int)(second + 1 - good), good),
        mem_printf("%.*s", (int)strlen(good) - 1, good),
        mem_printf("%.*s", (int)strlen(good) - 4, good),
        mem_printf("%s=", good),
        mem_printf("%.*s=%s", (int)(first - good), good, first),
        mem_printf("%s.", good),
        mem_printf("%s.e30", good),
        mem_printf(".%s", good),
        mem_printf("%.*s.%s", (int)(first - good), good, first),
        mem_printf("..%s", second + 1),
        mem_printf("%.*s.%s", (int)(first - good), good, second),
        mem_printf("%.*s %s", (int)(first - good), good, first),
        mem_printf("%.*s\n%s", (int)(first - good), good, first),
        mem_printf("%s%s", good, good),
        mem_printf("%s, %s", good, good),
        mem_printf("Bearer %s", good),
        mem_printf("%s\xff", good),
        mem_printf("%s+/", good),
        mem_printf(".."),
        mem_printf("..."),
        mem_printf("."),
        mem_printf("x"),
    };

    (void)state;
    judge(&scheme, good, VERIFY_VALID);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        judge(&scheme, bad[i], VERIFY_BAD);
        free(bad[i]);
    }
    judge(&scheme, "", VERIFY_BAD);
    free((void *)(uintptr_t)good);
}

/* One base64url text for one signature: the spare bits of its last character are zero. */
static void test_spare_bits_are_zero(void **state)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char *token = mem_copy(str_from(hs256("{}"))), *last = token + strlen(token) - 1;
    size_t at = (size_t)(strchr(alphabet, *last) - alphabet);
    struct scheme scheme = {0};

    (void)state;
    judge(&scheme, token, VERIFY_VALID);
    for (size_t i = 1; i < 4; i++) { /* 32 bytes leave two bits */
        *last = alphabet[at ^ i];
        judge(&scheme, token, VERIFY_BAD);
    }
    free(token);
}

static void test_what_was_changed(void **state)
{
    char *token = mem_copy(str_from(hs256("{\"sub\":\"a\"}")));
    struct scheme scheme = {0};

    (void)state;
    for (size_t i = 0; token[i]; i++) {
        char kept = token[i];

        token[i] = kept == 'A' ? 'E' : 'A';
        judge(&scheme, token, VERIFY_BAD);
        token[i] = kept;
    }
    judge(&scheme, token, VERIFY_VALID);
    free(token);
}

static void test_critical_extensions_are_refused(void **state)
{
    struct scheme scheme = {0};

    (void)state;
    judge(
        &scheme,
        keyed(EVP_sha256(), STR(K0), "{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}", "{}"),
        VERIFY_BAD);
    judge(&scheme, keyed(EVP_sha256(), STR(K0), "{\"alg\":\"HS256\",\"crit\":[]}", "{}"),
          VERIFY_BAD);
    judge(&scheme, keyed(EVP_sha256(), STR(K0), "{\"alg\":\"HS256\",\"crit\":null}", "{}"),
          VERIFY_BAD);
    judge(&scheme,
          keyed(EVP_sha256(), STR(K0),
                "{\"alg\":\"HS256\",\"jku\":\"https://evil.example\",\"jwk\":{},\"x5u\":\"u\"}",
                "{}"),
          VERIFY_VALID); /* nothing of these is ever followed */
}

static void test_sizes_and_depths_are_bounded(void **state)
{
    struct scheme scheme = {0};
    char claims[13000], deep[200];

    (void)state;
    memset(claims, 'x', sizeof(claims));
    memcpy(claims, "{\"a\":\"", 6);
    memcpy(claims + 11000, "\"}", 3);
    judge(&scheme, hs256(claims), VERIFY_VALID);
    claims[11000] = claims[11001] = 'x';
    memcpy(claims + 12300, "\"}", 3);
    claims[11002] = 'x';
    judge(&scheme, keyed(EVP_sha256(), STR(K0), HS256, claims), VERIFY_BAD); /* over 16 KiB */
    for (int depth = 31; depth <= 32; depth++) {
        snprintf(deep, sizeof(deep), "{\"a\":%.*s%.*s}", depth,
                 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", depth,
                 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
        judge(&scheme, hs256(deep), depth == 31 ? VERIFY_VALID : VERIFY_BAD);
    }
}

static void test_with_a_public_key_nothing_can_be_sent(void **state)
{
    struct str spki = signer_spki(ec);
    struct verify_spec spec = spec_of(&(struct scheme){
        .algorithms = "ES256", .encoding = "spki", .secrets = &spki, .secret_count = 1});
    struct verify_scheme *scheme = scheme_new(&spec);
    struct test_request test;
    struct header header;
    struct err err = {0};
    size_t count = 0;

    (void)state;
    request_begin(&test, STR(BODY));
    assert_int_equal(verify_sign(scheme, &test.request, 0, false, NULL, &header, 1, &count, &err),
                     -1);
    assert_int_equal(err.kind, ERR_NEVER);
    assert_string_equal(err.text, "cannot sign: the private key is the sender's alone");
    request_end(&test);
    verify_scheme_free(scheme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake),
        cmocka_unit_test(test_settings_of_other_kinds),
        cmocka_unit_test(test_every_mistake_of_a_secret),
        cmocka_unit_test(test_the_three_keyed_algorithms),
        cmocka_unit_test(test_algorithm_none),
        cmocka_unit_test(test_a_public_key_is_never_the_secret_of_an_hmac),
        cmocka_unit_test(test_es256),
        cmocka_unit_test(test_rs256_and_keys_of_both_kinds),
        cmocka_unit_test(test_kid_picks_among_the_keys),
        cmocka_unit_test(test_a_set_has_at_most_32_keys),
        cmocka_unit_test(test_several_secrets),
        cmocka_unit_test(test_a_token_in_every_wrong_form),
        cmocka_unit_test(test_spare_bits_are_zero),
        cmocka_unit_test(test_what_was_changed),
        cmocka_unit_test(test_critical_extensions_are_refused),
        cmocka_unit_test(test_sizes_and_depths_are_bounded),
        cmocka_unit_test(test_with_a_public_key_nothing_can_be_sent),
    };

    return cmocka_run_group_tests(tests, prepare, finish);
}
