/* Secrets: kept in one block with their count, wiped before the block is freed. */
#include "base/secret.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"

struct secret {
    atomic_uint references;
    size_t len;
    char bytes[];
};

struct secret *secret_new(struct str bytes)
{
    struct secret *secret = mem_alloc(sizeof(*secret) + bytes.len + 1);

    atomic_init(&secret->references, 1);
    secret->len = bytes.len;
    if (bytes.len)
        memcpy(secret->bytes, bytes.ptr, bytes.len);
    return secret;
}

struct secret *secret_ref(struct secret *secret)
{
    atomic_fetch_add_explicit(&secret->references, 1, memory_order_relaxed);
    return secret;
}

void secret_unref(struct secret *secret)
{
    if (!secret || atomic_fetch_sub_explicit(&secret->references, 1, memory_order_acq_rel) != 1)
        return;
    secret_wipe(secret->bytes, secret->len);
    free(secret);
}

struct str secret_reveal(const struct secret *secret)
{
    return (struct str){secret->bytes, secret->len};
}

size_t secret_len(const struct secret *secret)
{
    return secret->len;
}

void secret_wipe(void *bytes, size_t len)
{
    OPENSSL_cleanse(bytes, len);
}
