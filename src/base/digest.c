/* HMAC as RFC 2104 writes it: two digest states that have eaten the padded key, copied for every
 * message. Copying a state of OpenSSL 3 is several times cheaper than its generic MAC interface.
 * OpenSSL fails here only when memory runs out. */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/mem.h"

#define BLOCK_MAX 128

struct digester {
    const EVP_MD *md;
    EVP_MD_CTX *inner, *outer; /* keyed states; NULL where there is no key */
    EVP_MD_CTX *running;
};

/* Fetched once and kept: else OpenSSL 3 looks the implementation up for every message. */
static EVP_MD *mds[4];
static pthread_once_t mds_once = PTHREAD_ONCE_INIT;

static void must(int ok)
{
    if (ok != 1)
        abort();
}

static void fetch_mds(void)
{
    static const char *const names[] = {[DIGEST_SHA1] = "SHA1",
                                        [DIGEST_SHA256] = "SHA256",
                                        [DIGEST_SHA384] = "SHA384",
                                        [DIGEST_SHA512] = "SHA512"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        mds[i] = EVP_MD_fetch(NULL, names[i], NULL);
        must(mds[i] != NULL);
    }
}

static const EVP_MD *md_of(enum digest digest)
{
    must(pthread_once(&mds_once, fetch_mds) == 0);
    return mds[digest];
}

size_t digest_size(enum digest digest)
{
    return (size_t)EVP_MD_get_size(md_of(digest));
}

void digest_sha256(struct str bytes, unsigned char out[static 32])
{
    must(EVP_Digest(bytes.ptr, bytes.len, out, NULL, md_of(DIGEST_SHA256), NULL));
}

struct digester *digester_new(enum digest digest)
{
    struct digester *digester = mem_alloc(sizeof(*digester));

    digester->md = md_of(digest);
    digester->running = EVP_MD_CTX_new();
    must(digester->running != NULL);
    return digester;
}

/* A state that has eaten the key, each byte of it combined with `pad`. */
static EVP_MD_CTX *keyed_state(const EVP_MD *md, const unsigned char *key, size_t block,
                               unsigned char pad)
{
    unsigned char padded[BLOCK_MAX];
    EVP_MD_CTX *state = EVP_MD_CTX_new();

    for (size_t i = 0; i < block; i++)
        padded[i] = key[i] ^ pad;
    must(state != NULL);
    must(EVP_DigestInit_ex(state, md, NULL));
    must(EVP_DigestUpdate(state, padded, block));
    OPENSSL_cleanse(padded, sizeof(padded));
    return state;
}

struct digester *digester_new_keyed(enum digest digest, struct str key)
{
    struct digester *digester = digester_new(digest);
    size_t block = (size_t)EVP_MD_get_block_size(digester->md);
    unsigned char padded[BLOCK_MAX] = {0};

    if (key.len > block)
        must(EVP_Digest(key.ptr, key.len, padded, NULL, digester->md, NULL));
    else if (key.len)
        memcpy(padded, key.ptr, key.len);
    digester->inner = keyed_state(digester->md, padded, block, 0x36);
    digester->outer = keyed_state(digester->md, padded, block, 0x5c);
    OPENSSL_cleanse(padded, sizeof(padded));
    return digester;
}

void digester_free(struct digester *digester)
{
    if (!digester)
        return;
    EVP_MD_CTX_free(digester->inner);
    EVP_MD_CTX_free(digester->outer);
    EVP_MD_CTX_free(digester->running);
    free(digester);
}

void digester_begin(struct digester *digester)
{
    if (digester->inner)
        must(EVP_MD_CTX_copy_ex(digester->running, digester->inner));
    else
        must(EVP_DigestInit_ex(digester->running, digester->md, NULL));
}

void digester_add(struct digester *digester, struct str bytes)
{
    if (bytes.len)
        must(EVP_DigestUpdate(digester->running, bytes.ptr, bytes.len));
}

size_t digester_end(struct digester *digester, unsigned char out[static DIGEST_MAX])
{
    unsigned len = 0;

    must(EVP_DigestFinal_ex(digester->running, out, &len));
    if (digester->outer) {
        must(EVP_MD_CTX_copy_ex(digester->running, digester->outer));
        must(EVP_DigestUpdate(digester->running, out, len));
        must(EVP_DigestFinal_ex(digester->running, out, &len));
    }
    return len;
}

bool digest_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
