/* Secrets at rest: AES-256-GCM under a key of 32 bytes. What is sealed says for whom (a name that
 * is authenticated with it), so that a sealed value copied to another name does not open. Any
 * thread. */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include <stdbool.h>

#include "base/mem.h"
#include "base/secret.h"

#define SEAL_KEY_SIZE 32
#define SEAL_FINGERPRINT_SIZE 32

/* The key that a text stands for: 64 hexadecimal digits, base64 of 32 bytes, or 32 bytes as they
 * are. NULL: none of these. */
struct secret *seal_key(struct str text);

/* The sealed bytes; they live in `arena`. */
struct str seal(const struct secret *key, struct str name, struct str plain, struct arena *arena);

/* NULL: not sealed with this key for that name, or damaged. */
struct secret *seal_open(const struct secret *key, struct str name, struct str sealed);

/* The same for the same key, name and plain text, and tells nothing of them without the key. */
void seal_fingerprint(const struct secret *key, struct str name, struct str plain,
                      unsigned char out[static SEAL_FINGERPRINT_SIZE]);

#endif
