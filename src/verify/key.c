/* Checking signatures with a public key. How keys are written is key_read.c's. */
#include "verify/key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdlib.h>

#include "base/mem.h"
#include "verify/key_parts.h"

#define ED25519_SIGNATURE 64
#define P256_DER_MIN 8 /* a sequence of two numbers of one byte each */

void verify_key_free(struct verify_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pkey);
    free(key->id);
    free(key);
}

enum verify_key_kind verify_key_kind(const struct verify_key *key)
{
    return key->kind;
}

const char *verify_key_kind_text(enum verify_key_kind kind)
{
    static const char *const texts[] = {
        [VERIFY_KEY_ED25519] = "an Ed25519 key",
        [VERIFY_KEY_P256] = "an EC key on P-256",
        [VERIFY_KEY_RSA] = "an RSA key",
    };

    return texts[kind];
}

struct str verify_key_id(const struct verify_key *key)
{
    return str_from(key->id);
}

bool verify_key_takes(const struct verify_key *key, size_t signature_len)
{
    switch (key->kind) {
    case VERIFY_KEY_ED25519:
        return signature_len == ED25519_SIGNATURE;
    case VERIFY_KEY_P256:
        return signature_len >= P256_DER_MIN && signature_len <= VERIFY_KEY_P256_DER;
    case VERIFY_KEY_RSA:
        return signature_len == (size_t)EVP_PKEY_get_size(key->pkey);
    }
    return false;
}

static const EVP_MD *md_of(enum digest digest)
{
    switch (digest) {
    case DIGEST_SHA1:
        return EVP_sha1();
    case DIGEST_SHA256:
        return EVP_sha256();
    case DIGEST_SHA384:
        return EVP_sha384();
    case DIGEST_SHA512:
        return EVP_sha512();
    }
    return NULL;
}

static bool prepare(const struct verify_key *key, EVP_PKEY_CTX *context, enum digest digest)
{
    if (!context || EVP_PKEY_verify_init(context) != 1)
        return false;
    if (key->kind == VERIFY_KEY_RSA &&
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) != 1)
        return false;
    return EVP_PKEY_CTX_set_signature_md(context, md_of(digest)) == 1;
}

bool verify_key_check_hash(const struct verify_key *key, enum digest digest,
                           const unsigned char *hash, struct str signature)
{
    EVP_PKEY_CTX *context;
    bool fits;

    if (key->kind == VERIFY_KEY_ED25519 || !verify_key_takes(key, signature.len))
        return false;
    context = EVP_PKEY_CTX_new(key->pkey, NULL);
    fits = prepare(key, context, digest) &&
           EVP_PKEY_verify(context, (const unsigned char *)signature.ptr, signature.len, hash,
                           digest_size(digest)) == 1;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error(); /* what does not fit leaves reasons there, and TLS would find them */
    return fits;
}

bool verify_key_check_text(const struct verify_key *key, struct str text, struct str signature)
{
    EVP_MD_CTX *context;
    bool fits;

    if (key->kind != VERIFY_KEY_ED25519 || !verify_key_takes(key, signature.len))
        return false;
    context = EVP_MD_CTX_new();
    fits = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
           EVP_DigestVerify(context, (const unsigned char *)signature.ptr, signature.len,
                            (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return fits;
}

/* One INTEGER: no leading zeros, but one where the number would else be negative. */
static size_t put_number(const unsigned char number[static 32], unsigned char *der)
{
    size_t zeros = 0, at = 2;

    while (zeros < 31 && number[zeros] == 0)
        zeros++;
    if (number[zeros] & 0x80)
        der[at++] = 0;
    memcpy(der + at, number + zeros, 32 - zeros);
    at += 32 - zeros;
    der[0] = 0x02;
    der[1] = (unsigned char)(at - 2);
    return at;
}

size_t verify_key_p256_der(const unsigned char raw[static VERIFY_KEY_P256_RAW],
                           unsigned char der[static VERIFY_KEY_P256_DER])
{
    size_t len = put_number(raw, der + 2);

    len += put_number(raw + 32, der + 2 + len);
    der[0] = 0x30;
    der[1] = (unsigned char)len;
    return len + 2;
}
