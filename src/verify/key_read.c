/* The forms in which public keys are written, and what a key has to be. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/mem.h"
#include "verify/key_parts.h"

#define ED25519_KEY 32
#define RSA_MIN 2048 /* bits */
#define RSA_MAX 8192 /* more costs a stranger's request too much of our time */
#define DER_MAX 4096

bool verify_key_encoding(struct str encoding)
{
    static const char *const names[] = {"spki", "pem-cert", "ed25519-hex", "whpk", "jwk"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(encoding, names[i]))
            return true;
    return false;
}

/* ---- what a key has to be ---- */

/* Points of small order: with one of them as the key anybody makes signatures that fit. A key of
 * zeros, as people write in place of one, is among them. Both signs of each. */
static bool is_weak_ed25519(const unsigned char key[static ED25519_KEY])
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    unsigned char point[ED25519_KEY];

    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        if (codec_hex_decode(str_from(points[i]), point, sizeof(point)) != ED25519_KEY)
            abort();
        if (memcmp(point, key, ED25519_KEY - 1) == 0 &&
            (key[ED25519_KEY - 1] & 0x7f) == point[ED25519_KEY - 1])
            return true;
    }
    return false;
}

static int judge_ed25519(EVP_PKEY *pkey, struct err *err)
{
    unsigned char bytes[ED25519_KEY];
    size_t len = sizeof(bytes);

    if (EVP_PKEY_get_raw_public_key(pkey, bytes, &len) != 1 || len != sizeof(bytes))
        return err_set(err, ERR_INPUT, "is no key that can be used");
    if (is_weak_ed25519(bytes))
        return err_set(err, ERR_INPUT,
                       "is a key with which anybody could sign; copy the one that the provider "
                       "shows");
    return 0;
}

static int judge_ec(EVP_PKEY *pkey, struct err *err)
{
    char group[64] = "";

    if (EVP_PKEY_get_group_name(pkey, group, sizeof(group), NULL) != 1 ||
        !str_is(str_from(group), "prime256v1"))
        return err_set(err, ERR_INPUT, "is an EC key on another curve than P-256");
    return 0;
}

static int judge_rsa(EVP_PKEY *pkey, struct err *err)
{
    int bits = EVP_PKEY_get_bits(pkey);

    if (bits < RSA_MIN || bits > RSA_MAX)
        return err_set(err, ERR_INPUT, "is an RSA key of %d bits; it needs %d to %d", bits, RSA_MIN,
                       RSA_MAX);
    return 0;
}

static int judge_kind(EVP_PKEY *pkey, enum verify_key_kind *kind, struct err *err)
{
    static const struct {
        const char *name;
        enum verify_key_kind kind;
        int (*judge)(EVP_PKEY *pkey, struct err *err);
    } kinds[] = {{"ED25519", VERIFY_KEY_ED25519, judge_ed25519},
                 {"EC", VERIFY_KEY_P256, judge_ec},
                 {"RSA", VERIFY_KEY_RSA, judge_rsa}};

    for (size_t i = 0; pkey && i < ARRAY_LEN(kinds); i++) {
        if (!EVP_PKEY_is_a(pkey, kinds[i].name))
            continue;
        *kind = kinds[i].kind;
        return kinds[i].judge(pkey, err);
    }
    return err_set(err, ERR_INPUT, "is no key of Ed25519, P-256 or RSA");
}

/* Whether the numbers make sense: the point lies on its curve, the exponent is odd. */
static int judge_numbers(EVP_PKEY *pkey, struct err *err)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(pkey, NULL);
    bool sound = context && EVP_PKEY_public_check(context) == 1;

    EVP_PKEY_CTX_free(context);
    return sound ? 0 : err_set(err, ERR_INPUT, "is no key that can be used");
}

struct verify_key *key_judge(EVP_PKEY *pkey, struct err *err)
{
    struct verify_key *key = NULL;
    enum verify_key_kind kind = VERIFY_KEY_RSA;

    if (judge_kind(pkey, &kind, err) == 0 && judge_numbers(pkey, err) == 0) {
        key = mem_alloc(sizeof(*key));
        key->pkey = pkey;
        key->kind = kind;
    } else {
        EVP_PKEY_free(pkey);
    }
    ERR_clear_error();
    return key;
}

/* ---- how keys are written ---- */

struct verify_key *key_from_ed25519(const unsigned char bytes[static ED25519_KEY], struct err *err)
{
    return key_judge(EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, bytes, ED25519_KEY),
                     err);
}

static struct verify_key *read_hex(struct str text, struct err *err)
{
    unsigned char bytes[ED25519_KEY];
    ssize_t len = codec_hex_decode(text, bytes, sizeof(bytes));

    if (len == ED25519_KEY)
        return key_from_ed25519(bytes, err);
    err_set(err, ERR_INPUT, "is not the 64 hexadecimal digits of an Ed25519 key");
    return NULL;
}

static struct verify_key *read_whpk(struct str text, struct err *err)
{
    unsigned char bytes[ED25519_KEY];

    if (str_starts(text, STR("whpk_"))) {
        text.ptr += 5;
        text.len -= 5;
    }
    if (codec_base64_decode(text, BASE64_EITHER_ALPHABET | BASE64_PADDING_OPTIONAL, bytes,
                            sizeof(bytes)) == ED25519_KEY)
        return key_from_ed25519(bytes, err);
    err_set(err, ERR_INPUT,
            "is not the base64 of an Ed25519 key's 32 bytes (after an optional \"whpk_\")");
    return NULL;
}

static bool has(struct str text, struct str part)
{
    return memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

/* Without this OpenSSL would ask at the terminal for the password of an encrypted file. */
static int no_password(char *buffer, int size, int writing, void *argument)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)argument;
    return -1;
}

static struct verify_key *read_cert(struct str text, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
    struct verify_key *key = NULL;

    if (cert)
        key = key_judge(X509_get_pubkey(cert), err);
    else
        err_set(err, ERR_INPUT,
                "is not a certificate as PEM, from \"-----BEGIN CERTIFICATE-----\" on");
    X509_free(cert);
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

static EVP_PKEY *spki_from_pem(struct str text)
{
    BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
    EVP_PKEY *pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL) : NULL;

    BIO_free(bio);
    return pkey;
}

static EVP_PKEY *spki_from_base64(struct str text)
{
    unsigned char der[DER_MAX];
    const unsigned char *at = der;
    ssize_t len = codec_base64_decode(text, BASE64_EITHER_ALPHABET | BASE64_PADDING_OPTIONAL, der,
                                      sizeof(der));
    EVP_PKEY *pkey = len > 0 ? d2i_PUBKEY(NULL, &at, len) : NULL;

    if (!pkey || at == der + len)
        return pkey;
    EVP_PKEY_free(pkey);
    return NULL;
}

static struct verify_key *read_spki(struct str text, struct err *err)
{
    EVP_PKEY *pkey =
        has(text, STR("-----BEGIN ")) ? spki_from_pem(text) : spki_from_base64(str_trim(text));

    ERR_clear_error();
    if (pkey)
        return key_judge(pkey, err);
    err_set(err, ERR_INPUT,
            "is not a public key as base64 (SubjectPublicKeyInfo) or PEM, from \"-----BEGIN PUBLIC "
            "KEY-----\" on");
    return NULL;
}

struct verify_key *verify_key_read(struct str encoding, struct str text, struct err *err)
{
    if (has(text, STR("PRIVATE KEY-----"))) {
        err_set(err, ERR_INPUT,
                "holds a private key, which nobody but the sender should have; give the public "
                "one");
        return NULL;
    }
    if (str_is(encoding, "ed25519-hex"))
        return read_hex(text, err);
    if (str_is(encoding, "whpk"))
        return read_whpk(text, err);
    if (str_is(encoding, "pem-cert"))
        return read_cert(text, err);
    if (str_is(encoding, "jwk"))
        return key_read_jwk(text, err);
    return read_spki(text, err);
}
