/* Public keys: every form in which they are written, every one that must not be used and what is
 * said about it, and signatures by OpenSSL's own signing side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/codec.h"
#include "signer.h"
#include "verify/key.h"

#define MESSAGE "1700000000.{\"id\":\"evt_1\"}"

/* ---- further forms of OpenSSL's keys ---- */

/* What a BIO holds, in a buffer of the test. */
static struct str take_bio(BIO *bio)
{
    static char texts[4][8192];
    static size_t next;
    char *text = texts[next++ % 4];
    int len = BIO_read(bio, text, sizeof(texts[0]));

    BIO_free(bio);
    assert_true(len > 0);
    return (struct str){text, (size_t)len};
}

static struct str pem_of(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    assert_int_equal(PEM_write_bio_PUBKEY(bio, pkey), 1);
    return take_bio(bio);
}

static struct str private_pem_of(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    assert_int_equal(PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL), 1);
    return take_bio(bio);
}

/* Long expired: it is pinned, so its dates say nothing. */
static struct str cert_of(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509 *cert = X509_new();

    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    ASN1_TIME_set(X509_getm_notBefore(cert), 0);
    ASN1_TIME_set(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, pkey);
    assert_true(X509_sign(cert, pkey, EVP_PKEY_is_a(pkey, "ED25519") ? NULL : EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
    X509_free(cert);
    return take_bio(bio);
}

static struct str number_of(EVP_PKEY *pkey, const char *name, int size)
{
    unsigned char bytes[1100];
    BIGNUM *number = NULL;
    int len;

    assert_int_equal(EVP_PKEY_get_bn_param(pkey, name, &number), 1);
    len = size ? size : BN_num_bytes(number);
    assert_int_equal(BN_bn2binpad(number, bytes, len), len);
    BN_free(number);
    return signer_base64(bytes, (size_t)len, true, false);
}

static struct str raw_of(EVP_PKEY *pkey, unsigned char raw[32])
{
    size_t len = 32;

    assert_int_equal(EVP_PKEY_get_raw_public_key(pkey, raw, &len), 1);
    return (struct str){(const char *)raw, len};
}

static struct str jwk_of(EVP_PKEY *pkey, const char *more)
{
    static char text[4096];
    unsigned char raw[32];

    if (EVP_PKEY_is_a(pkey, "RSA"))
        snprintf(text, sizeof(text), "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"%s}",
                 number_of(pkey, OSSL_PKEY_PARAM_RSA_N, 0).ptr,
                 number_of(pkey, OSSL_PKEY_PARAM_RSA_E, 0).ptr, more);
    else if (EVP_PKEY_is_a(pkey, "EC"))
        snprintf(text, sizeof(text),
                 "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"%s}",
                 number_of(pkey, OSSL_PKEY_PARAM_EC_PUB_X, 32).ptr,
                 number_of(pkey, OSSL_PKEY_PARAM_EC_PUB_Y, 32).ptr, more);
    else
        snprintf(text, sizeof(text), "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"%s}",
                 signer_base64((const unsigned char *)raw_of(pkey, raw).ptr, 32, true, false).ptr,
                 more);
    return str_from(text);
}

/* ---- ours ---- */

static struct verify_key *read_key(const char *encoding, struct str text)
{
    struct err err = {0};
    struct verify_key *key = verify_key_read(str_from(encoding), text, &err);

    if (!key)
        fail_msg("%s: %s", encoding, err.text);
    return key;
}

static bool check(const struct verify_key *key, enum digest digest, struct str text,
                  struct str signature)
{
    static const char *const names[] = {"SHA1", "SHA256", "SHA384", "SHA512"};
    unsigned char hash[EVP_MAX_MD_SIZE];

    if (verify_key_kind(key) == VERIFY_KEY_ED25519)
        return verify_key_check_text(key, text, signature);
    assert_int_equal(EVP_Q_digest(NULL, names[digest], NULL, text.ptr, text.len, hash, NULL), 1);
    return verify_key_check_hash(key, digest, hash, signature);
}

/* Every bit of a signature counts, and every byte of its length. */
static void check_signatures(const struct verify_key *key, EVP_PKEY *pkey, const EVP_MD *md)
{
    unsigned char signature[1024];
    size_t len = signer_sign(pkey, md, STR(MESSAGE), signature, sizeof(signature));
    struct str text = STR(MESSAGE), whole = {(const char *)signature, len};

    assert_true(verify_key_takes(key, len));
    assert_true(check(key, DIGEST_SHA256, text, whole));
    assert_false(check(key, DIGEST_SHA256, STR(MESSAGE " "), whole));
    assert_false(check(key, DIGEST_SHA256, text, (struct str){whole.ptr, len - 1}));
    signature[len] = 0;
    assert_false(check(key, DIGEST_SHA256, text, (struct str){whole.ptr, len + 1}));
    assert_false(check(key, DIGEST_SHA256, text, (struct str){whole.ptr, 0}));
    for (size_t i = 0; i < len; i++) {
        signature[i] ^= (unsigned char)(1 << i % 8);
        assert_false(check(key, DIGEST_SHA256, text, whole));
        signature[i] ^= (unsigned char)(1 << i % 8);
    }
    assert_true(check(key, DIGEST_SHA256, text, whole));
    assert_int_equal(ERR_peek_error(), 0);
}

static void test_every_form_of_a_key(void **state)
{
    static const struct {
        const char *made;
        enum verify_key_kind kind;
        const char *text;
    } kinds[] = {{"ED25519", VERIFY_KEY_ED25519, "an Ed25519 key"},
                 {"P-256", VERIFY_KEY_P256, "an EC key on P-256"},
                 {"RSA2048", VERIFY_KEY_RSA, "an RSA key"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        EVP_PKEY *pkey = signer_key(kinds[i].made);
        struct verify_key *keys[] = {
            read_key("spki", signer_spki(pkey)), read_key("spki", pem_of(pkey)),
            read_key("pem-cert", cert_of(pkey)),
            read_key("jwk", jwk_of(pkey, ",\"use\":\"sig\",\"kid\":\"k 1\""))};

        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            assert_int_equal(verify_key_kind(keys[k]), kinds[i].kind);
            check_signatures(keys[k], pkey,
                             kinds[i].kind == VERIFY_KEY_ED25519 ? NULL : EVP_sha256());
            assert_true(k == 3 ? str_is(verify_key_id(keys[k]), "k 1")
                               : !verify_key_id(keys[k]).ptr);
            verify_key_free(keys[k]);
        }
        assert_string_equal(verify_key_kind_text(kinds[i].kind), kinds[i].text);
        EVP_PKEY_free(pkey);
    }
}

static void test_the_bare_bytes_of_an_ed25519_key(void **state)
{
    EVP_PKEY *pkey = signer_key("ED25519");
    unsigned char raw[32];
    char hex[CODEC_HEX_SIZE(32)], whpk[80];
    struct verify_key *key;

    (void)state;
    raw_of(pkey, raw);
    codec_hex_encode(raw, sizeof(raw), hex);
    snprintf(whpk, sizeof(whpk), "whpk_%s", signer_base64(raw, sizeof(raw), false, true).ptr);
    key = read_key("ed25519-hex", str_from(hex));
    check_signatures(key, pkey, NULL);
    verify_key_free(key);
    key = read_key("whpk", str_from(whpk));
    check_signatures(key, pkey, NULL);
    verify_key_free(key);
    key = read_key("whpk", str_from(whpk + 5));
    verify_key_free(key);
    key = read_key("whpk", signer_base64(raw, sizeof(raw), true, false));
    verify_key_free(key);
    EVP_PKEY_free(pkey);
}

/* RFC 8032 section 7.1, tests 1 and 3. */
static void test_ed25519_as_published(void **state)
{
    static const struct {
        const char *key, *text, *signature;
    } cases[] = {
        {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e3970"
         "1cf9b46bd25bf5f0595bbe24655141438e7a100b"},
        {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760"
         "984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_key *key = read_key("ed25519-hex", str_from(cases[i].key));
        unsigned char text[8], signature[64];
        ssize_t len = codec_hex_decode(str_from(cases[i].text), text, sizeof(text));

        assert_int_equal(codec_hex_decode(str_from(cases[i].signature), signature, 64), 64);
        assert_true(verify_key_check_text(key, (struct str){(const char *)text, (size_t)len},
                                          (struct str){(const char *)signature, 64}));
        verify_key_free(key);
    }
}

/* RFC 7515 appendix A.3: r and s side by side. */
static void test_es256_as_published(void **state)
{
    static const char jwk[] = "{\"kty\":\"EC\",\"crv\":\"P-256\","
                              "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                              "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}";
    static const char text[] =
        "eyJhbGciOiJFUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLm"
        "NvbS9pc19yb290Ijp0cnVlfQ";
    static const char raw_text[] =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    struct verify_key *key = read_key("jwk", str_from(jwk));
    unsigned char raw[64], der[VERIFY_KEY_P256_DER];
    size_t len;

    (void)state;
    assert_int_equal(codec_base64_decode(str_from(raw_text), BASE64_URL | BASE64_PADDING_OPTIONAL,
                                         raw, sizeof(raw)),
                     64);
    len = verify_key_p256_der(raw, der);
    assert_true(check(key, DIGEST_SHA256, str_from(text), (struct str){(const char *)der, len}));
    verify_key_free(key);
}

static void assert_der(const char *raw_hex, const char *want)
{
    unsigned char raw[64], der[VERIFY_KEY_P256_DER];
    char text[CODEC_HEX_SIZE(VERIFY_KEY_P256_DER)];

    assert_int_equal(codec_hex_decode(str_from(raw_hex), raw, sizeof(raw)), 64);
    codec_hex_encode(der, verify_key_p256_der(raw, der), text);
    assert_string_equal(text, want);
}

#define ZEROS_31 "00000000000000000000000000000000000000000000000000000000000000"
#define ONES_32 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static void test_numbers_as_der(void **state)
{
    (void)state;
    assert_der(ZEROS_31 "00" ZEROS_31 "00", "3006020100020100");
    assert_der(ZEROS_31 "7f" ZEROS_31 "80", "300702017f02020080");
    assert_der(ONES_32 ONES_32, "3046022100" ONES_32 "022100" ONES_32);
}

static void test_other_digests(void **state)
{
    EVP_PKEY *pkey = signer_key("RSA2048");
    struct verify_key *key = read_key("spki", signer_spki(pkey));
    unsigned char signature[256];
    struct str whole = {(const char *)signature, 256};

    (void)state;
    assert_int_equal(signer_sign(pkey, EVP_sha1(), STR(MESSAGE), signature, sizeof(signature)),
                     256);
    assert_true(check(key, DIGEST_SHA1, STR(MESSAGE), whole));
    assert_false(check(key, DIGEST_SHA256, STR(MESSAGE), whole));
    assert_false(check(key, DIGEST_SHA512, STR(MESSAGE), whole));
    assert_false(verify_key_check_text(key, STR(MESSAGE), whole));
    verify_key_free(key);
    EVP_PKEY_free(pkey);
}

/* A signature with salt is another scheme than the one that is configured. */
static void test_rsa_pss_is_not_pkcs1(void **state)
{
    EVP_PKEY *pkey = signer_key("RSA2048");
    struct verify_key *key = read_key("spki", signer_spki(pkey));
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *pkey_context = NULL;
    unsigned char signature[256];
    size_t len = sizeof(signature);

    (void)state;
    assert_int_equal(EVP_DigestSignInit(context, &pkey_context, EVP_sha256(), NULL, pkey), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pkey_context, RSA_PKCS1_PSS_PADDING), 1);
    assert_int_equal(
        EVP_DigestSign(context, signature, &len, (const unsigned char *)MESSAGE, strlen(MESSAGE)),
        1);
    assert_false(
        check(key, DIGEST_SHA256, STR(MESSAGE), (struct str){(const char *)signature, len}));
    EVP_MD_CTX_free(context);
    verify_key_free(key);
    EVP_PKEY_free(pkey);
}

static void test_another_key_does_not_fit(void **state)
{
    static const char *const kinds[] = {"ED25519", "P-256", "RSA2048"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        EVP_PKEY *ours = signer_key(kinds[i]), *theirs = signer_key(kinds[i]);
        struct verify_key *key = read_key("spki", signer_spki(ours));
        unsigned char signature[512];
        size_t len = signer_sign(theirs, i == 0 ? NULL : EVP_sha256(), STR(MESSAGE), signature,
                                 sizeof(signature));

        assert_false(
            check(key, DIGEST_SHA256, STR(MESSAGE), (struct str){(const char *)signature, len}));
        assert_int_equal(ERR_peek_error(), 0);
        verify_key_free(key);
        EVP_PKEY_free(ours);
        EVP_PKEY_free(theirs);
    }
}

/* ---- what is refused ---- */

static void assert_refused(const char *encoding, struct str text, const char *want)
{
    struct err err = {0};
    struct verify_key *key = verify_key_read(str_from(encoding), text, &err);

    if (key || !strstr(err.text, want))
        fail_msg("%s %.*s: %s", encoding, STR_ARG(text), key ? "is taken" : err.text);
    assert_int_equal(ERR_peek_error(), 0);
}

#define NO_SPKI "is not a public key as base64 (SubjectPublicKeyInfo) or PEM"
#define ANYBODY "is a key with which anybody could sign"

static void test_texts_that_are_no_key(void **state)
{
    static const struct {
        const char *encoding, *text, *want;
    } cases[] = {
        {"ed25519-hex", "", "is not the 64 hexadecimal digits"},
        {"ed25519-hex", "00", "is not the 64 hexadecimal digits"},
        {"ed25519-hex", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511",
         "is not the 64 hexadecimal digits"},
        {"ed25519-hex", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a00",
         "is not the 64 hexadecimal digits"},
        {"ed25519-hex", ZEROS_31 "00", ANYBODY},
        {"ed25519-hex", "01" ZEROS_31, ANYBODY},
        {"ed25519-hex", ZEROS_31 "80", ANYBODY},
        {"ed25519-hex", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
         ANYBODY},
        {"ed25519-hex", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
         ANYBODY},
        {"ed25519-hex", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
         ANYBODY},
        {"ed25519-hex", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
         ANYBODY},
        {"whpk", "whpk_", "is not the base64 of an Ed25519 key"},
        {"whpk", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "is not the base64 of an Ed25519 key"},
        {"whpk", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", ANYBODY},
        {"spki", "", NO_SPKI},
        {"spki", "AAAA", NO_SPKI},
        {"spki", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", NO_SPKI},
        {"spki", "-----BEGIN PUBLIC KEY-----\n", NO_SPKI},
        {"pem-cert", "", "is not a certificate as PEM"},
        {"pem-cert", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
         "is not a certificate as PEM"},
        {"pem-cert",
         "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
         "AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n-----END CERTIFICATE-----\n",
         "is not a certificate as PEM"},
        {"jwk", "", "is not a JSON Web Key"},
        {"jwk", "{", "is not a JSON Web Key"},
        {"jwk", "[]", "is not a JSON Web Key"},
        {"jwk", "{\"kty\":1}", "is not a JSON Web Key"},
        {"jwk", "{\"kty\":\"oct\",\"k\":\"AAECAwQFBgcICQ\"}", "of another kind"},
        {"jwk", "{\"kty\":\"EC\",\"crv\":\"P-384\"}", "of another kind"},
        {"jwk", "{\"kty\":\"OKP\",\"crv\":\"Ed448\"}", "of another kind"},
        {"jwk", "{\"kty\":\"EC\",\"crv\":\"P-256\"}", "whose x and y are not 32 bytes"},
        {"jwk", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
         "whose x and y are not 32 bytes"},
        {"jwk",
         "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
         "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a1\"}",
         "whose x and y are not 32 bytes"}, /* spare bits */
        {"jwk",
         "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
         "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4\"}",
         "whose point is not on P-256"},
        {"jwk", "{\"kty\":\"RSA\"}", "whose n and e are not numbers"},
        {"jwk", "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", "is an RSA key of 17 bits"},
        {"jwk", "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}", "whose x is not 32 bytes"},
        {"jwk",
         "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
         "\"}",
         ANYBODY},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].encoding, str_from(cases[i].text), cases[i].want);
}

static void test_keys_that_must_not_be_used(void **state)
{
    static const struct {
        const char *made, *want;
    } cases[] = {
        {"RSA1024", "is an RSA key of 1024 bits; it needs 2048 to 8192"},
        {"P-384", "is an EC key on another curve than P-256"},
        {"ED448", "is no key of Ed25519, P-256 or RSA"},
        {"X25519", "is no key of Ed25519, P-256 or RSA"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        EVP_PKEY *pkey = signer_key(cases[i].made);

        assert_refused("spki", signer_spki(pkey), cases[i].want);
        assert_refused("spki", pem_of(pkey), cases[i].want);
        assert_refused("spki", private_pem_of(pkey), "holds a private key");
        assert_refused("pem-cert", private_pem_of(pkey), "holds a private key");
        EVP_PKEY_free(pkey);
    }
}

static void test_what_follows_a_key_is_not_part_of_it(void **state)
{
    EVP_PKEY *pkey = signer_key("P-256");
    unsigned char *der = NULL, longer[256] = {0};
    int len = i2d_PUBKEY(pkey, &der);

    (void)state;
    memcpy(longer, der, (size_t)len);
    assert_refused("spki", signer_base64(longer, (size_t)len + 1, false, true), NO_SPKI);
    OPENSSL_free(der);
    EVP_PKEY_free(pkey);
}

static void test_a_jwk_for_something_else(void **state)
{
    EVP_PKEY *pkey = signer_key("P-256");

    (void)state;
    assert_refused("jwk", jwk_of(pkey, ",\"use\":\"enc\""), "not for signatures");
    assert_refused("jwk", jwk_of(pkey, ",\"alg\":\"ES384\""), "for another algorithm than ES256");
    assert_refused("jwk", jwk_of(pkey, ",\"alg\":\"HS256\""), "for another algorithm than ES256");
    assert_refused("jwk", jwk_of(pkey, ",\"d\":\"AAAA\""), "holds a private key");
    verify_key_free(read_key("jwk", jwk_of(pkey, ",\"alg\":\"ES256\",\"ext\":true")));
    EVP_PKEY_free(pkey);
    pkey = signer_key("RSA2048");
    assert_refused("jwk", jwk_of(pkey, ",\"alg\":\"PS256\""), "for another algorithm than RS256");
    EVP_PKEY_free(pkey);
    pkey = signer_key("ED25519");
    verify_key_free(read_key("jwk", jwk_of(pkey, ",\"alg\":\"EdDSA\"")));
    verify_key_free(read_key("jwk", jwk_of(pkey, ",\"alg\":\"Ed25519\"")));
    EVP_PKEY_free(pkey);
}

static void test_symmetric_keys(void **state)
{
    static const struct {
        const char *text, *want; /* want: what is said; NULL: it is a key */
    } cases[] = {
        {"{\"kty\":\"oct\",\"k\":\"AAECAwQFBgc\"}", NULL},
        {"{\"kty\":\"oct\",\"k\":\"AAECAwQF\\u0042gc\",\"alg\":\"HS256\"}", NULL},
        {"{\"kty\":\"oct\",\"k\":\"AAECAwQFBgc=\"}", "whose k is not 8 bytes or more"},
        {"{\"kty\":\"oct\",\"k\":\"AAECAwQFBg\"}", "whose k is not 8 bytes or more"},
        {"{\"kty\":\"oct\"}", "whose k is not 8 bytes or more"},
        {"{\"kty\":\"oct\",\"k\":\"AAECAwQFBgc\",\"use\":\"enc\"}", "not for signatures"},
        {"{\"kty\":\"EC\",\"k\":\"AAECAwQFBgc\"}", "is a public key, which everybody may know"},
        {"AAECAwQFBgc", "is not a JSON Web Key"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct secret *secret = verify_key_read_oct(str_from(cases[i].text), &err);

        if (!secret != (cases[i].want != NULL) || (!secret && !strstr(err.text, cases[i].want)))
            fail_msg("%s: %s", cases[i].text, err.text);
        if (secret)
            assert_memory_equal(secret_reveal(secret).ptr, "\0\1\2\3\4\5\6\7", 8);
        secret_unref(secret);
    }
}

static void test_the_encodings_of_public_keys(void **state)
{
    (void)state;
    assert_true(verify_key_encoding(STR("spki")));
    assert_true(verify_key_encoding(STR("pem-cert")));
    assert_true(verify_key_encoding(STR("ed25519-hex")));
    assert_true(verify_key_encoding(STR("whpk")));
    assert_true(verify_key_encoding(STR("jwk")));
    assert_false(verify_key_encoding(STR("raw")));
    assert_false(verify_key_encoding(STR("hex")));
    assert_false(verify_key_encoding(STR_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_a_key),
        cmocka_unit_test(test_the_bare_bytes_of_an_ed25519_key),
        cmocka_unit_test(test_ed25519_as_published),
        cmocka_unit_test(test_es256_as_published),
        cmocka_unit_test(test_numbers_as_der),
        cmocka_unit_test(test_other_digests),
        cmocka_unit_test(test_rsa_pss_is_not_pkcs1),
        cmocka_unit_test(test_another_key_does_not_fit),
        cmocka_unit_test(test_texts_that_are_no_key),
        cmocka_unit_test(test_keys_that_must_not_be_used),
        cmocka_unit_test(test_what_follows_a_key_is_not_part_of_it),
        cmocka_unit_test(test_a_jwk_for_something_else),
        cmocka_unit_test(test_symmetric_keys),
        cmocka_unit_test(test_the_encodings_of_public_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
