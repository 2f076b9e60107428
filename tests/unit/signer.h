/* The side of senders that have a private key, made for the test by OpenSSL. */
#ifndef TESTS_SIGNER_H
#define TESTS_SIGNER_H

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/str.h"

/* A new key: ED25519, ED448, X25519, P-256, P-384, RSA2048 and so on. */
UNUSED static EVP_PKEY *signer_key(const char *kind)
{
    EVP_PKEY *pkey = strncmp(kind, "RSA", 3) == 0
                         ? EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)strtoul(kind + 3, NULL, 10))
                     : strchr(kind, '-') ? EVP_PKEY_Q_keygen(NULL, NULL, "EC", kind)
                                         : EVP_PKEY_Q_keygen(NULL, NULL, kind);

    if (!pkey)
        abort();
    return pkey;
}

/* Returns the signature's length; `md` is NULL for Ed25519. */
UNUSED static size_t signer_sign(EVP_PKEY *pkey, const EVP_MD *md, struct str text,
                                 unsigned char *out, size_t size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    assert_int_equal(EVP_DigestSignInit(context, NULL, md, NULL, pkey), 1);
    assert_int_equal(EVP_DigestSign(context, out, &size, (const unsigned char *)text.ptr, text.len),
                     1);
    EVP_MD_CTX_free(context);
    return size;
}

/* The text lives until the eighth call after this one. */
UNUSED static struct str signer_base64(const unsigned char *bytes, size_t len, bool url,
                                       bool padded)
{
    static char texts[8][12000];
    static size_t next;
    char *text = texts[next++ % 8];

    assert_true(CODEC_BASE64_SIZE(len) <= sizeof(texts[0]));
    codec_base64_encode(bytes, len, url, text);
    if (!padded)
        text[strcspn(text, "=")] = '\0';
    return str_from(text);
}

UNUSED static struct str signer_spki(EVP_PKEY *pkey)
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(pkey, &der);
    struct str text = signer_base64(der, (size_t)len, false, true);

    OPENSSL_free(der);
    return text;
}

#endif
