/* The forms in which public keys are written. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/attr.h"
#include "base/codec.h"
#include "verify/key_parts.h"

#define ED25519_KEY 32
#define DER_MAX 4096

bool verify_key_encoding(struct str encoding)
{
    static const char *const names[] = {"spki", "pem-cert", "ed25519-hex", "whpk", "jwk"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(encoding, names[i]))
            return true;
    return false;
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
