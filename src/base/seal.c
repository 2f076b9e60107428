/* Layout: a version byte, 12 bytes of nonce (random), the ciphertext, 16 bytes of tag. Two keys are
 * derived from the given one, so that no key serves two algorithms. OpenSSL fails here only when
 * memory or the system's randomness runs out. */
#include "base/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/digest.h"

#define VERSION 1
#define NONCE_SIZE 12
#define TAG_SIZE 16
#define HEAD_SIZE (1 + NONCE_SIZE)

static void must(int ok)
{
    if (ok != 1)
        abort();
}

struct secret *seal_key(struct str text)
{
    unsigned char key[SEAL_KEY_SIZE];
    struct secret *secret;

    if (text.len == SEAL_KEY_SIZE)
        return secret_new(text);
    if (codec_hex_decode(text, key, sizeof(key)) != SEAL_KEY_SIZE &&
        codec_base64_decode(text, BASE64_EITHER_ALPHABET | BASE64_PADDING_OPTIONAL, key,
                            sizeof(key)) != SEAL_KEY_SIZE)
        return NULL;
    secret = secret_new((struct str){(const char *)key, sizeof(key)});
    secret_wipe(key, sizeof(key));
    return secret;
}

/* HMAC-SHA256 of the parts, each with a NUL behind it. */
static void mac(struct str key, const struct str *parts, size_t count,
                unsigned char out[static DIGEST_MAX])
{
    struct digester *digester = digester_new_keyed(DIGEST_SHA256, key);

    digester_begin(digester);
    for (size_t i = 0; i < count; i++) {
        digester_add(digester, parts[i]);
        digester_add(digester, (struct str){"", 1});
    }
    digester_end(digester, out);
    digester_free(digester);
}

/* The key for one purpose. */
static void derive(const struct secret *key, struct str purpose,
                   unsigned char out[static DIGEST_MAX])
{
    mac(secret_reveal(key), &purpose, 1, out);
}

/* A cipher that knows key, nonce and name. */
static EVP_CIPHER_CTX *begin(const struct secret *key, const unsigned char *nonce, struct str name,
                             int encrypt)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char derived[DIGEST_MAX];
    int len;

    must(context != NULL);
    derive(key, STR("inboxd seal"), derived);
    must(EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, derived, nonce, encrypt));
    secret_wipe(derived, sizeof(derived));
    must(EVP_CipherUpdate(context, NULL, &len, (const unsigned char *)name.ptr, (int)name.len));
    return context;
}

struct str seal(const struct secret *key, struct str name, struct str plain, struct arena *arena)
{
    size_t size = HEAD_SIZE + plain.len + TAG_SIZE;
    unsigned char *sealed = (unsigned char *)arena_bytes(arena, size);
    EVP_CIPHER_CTX *context;
    int len;

    sealed[0] = VERSION;
    must(RAND_bytes(sealed + 1, NONCE_SIZE));
    context = begin(key, sealed + 1, name, 1);
    must(EVP_CipherUpdate(context, sealed + HEAD_SIZE, &len, (const unsigned char *)plain.ptr,
                          (int)plain.len));
    must(EVP_CipherFinal_ex(context, sealed + HEAD_SIZE + plain.len, &len));
    must(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_SIZE,
                             sealed + HEAD_SIZE + plain.len));
    EVP_CIPHER_CTX_free(context);
    return (struct str){(const char *)sealed, size};
}

struct secret *seal_open(const struct secret *key, struct str name, struct str sealed)
{
    const unsigned char *bytes = (const unsigned char *)sealed.ptr;
    struct secret *secret = NULL;
    EVP_CIPHER_CTX *context;
    unsigned char tag[TAG_SIZE];
    size_t size;
    char *plain;
    int len;

    if (sealed.len < HEAD_SIZE + TAG_SIZE || bytes[0] != VERSION)
        return NULL;
    size = sealed.len - HEAD_SIZE - TAG_SIZE;
    plain = mem_alloc(size + 1);
    memcpy(tag, bytes + HEAD_SIZE + size, TAG_SIZE);
    context = begin(key, bytes + 1, name, 0);
    must(EVP_CipherUpdate(context, (unsigned char *)plain, &len, bytes + HEAD_SIZE, (int)size));
    must(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag));
    if (EVP_CipherFinal_ex(context, (unsigned char *)plain + size, &len) == 1)
        secret = secret_new((struct str){plain, size});
    EVP_CIPHER_CTX_free(context);
    secret_wipe(plain, size);
    free(plain);
    return secret;
}

void seal_fingerprint(const struct secret *key, struct str name, struct str plain,
                      unsigned char out[static SEAL_FINGERPRINT_SIZE])
{
    const struct str parts[] = {name, plain};
    unsigned char derived[DIGEST_MAX], digest[DIGEST_MAX];

    derive(key, STR("inboxd fingerprint"), derived);
    mac((struct str){(const char *)derived, SEAL_KEY_SIZE}, parts, 2, digest);
    secret_wipe(derived, sizeof(derived));
    memcpy(out, digest, SEAL_FINGERPRINT_SIZE);
}
