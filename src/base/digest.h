/* Digests and keyed digests (OpenSSL). A keyed context is made once per secret and used again for
 * every message: setting up a key costs more than a short message. A context belongs to one thread
 * at a time. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>

#include "base/str.h"

#define DIGEST_MAX 64 /* bytes of the longest one */

enum digest { DIGEST_SHA1, DIGEST_SHA256, DIGEST_SHA384, DIGEST_SHA512 };

size_t digest_size(enum digest digest);
void digest_sha256(struct str bytes, unsigned char out[static 32]);

/* A digest that is fed in pieces; keyed (HMAC, RFC 2104) where it was made with a key. */
struct digester;
struct digester *digester_new(enum digest digest);
struct digester *digester_new_keyed(enum digest digest, struct str key);
void digester_free(struct digester *digester); /* takes NULL; wipes the key's state */
void digester_begin(struct digester *digester);
void digester_add(struct digester *digester, struct str bytes);
size_t digester_end(struct digester *digester,
                    unsigned char out[static DIGEST_MAX]); /* returns digest_size() */

/* Compares in a time that depends on the length alone. */
bool digest_equal(const void *a, const void *b, size_t len);

#endif
