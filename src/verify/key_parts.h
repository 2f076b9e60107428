/* What a public key is made of, shared by the key_*.c files. */
#ifndef VERIFY_KEY_PARTS_H
#define VERIFY_KEY_PARTS_H

#include <openssl/evp.h>

#include "verify/key.h"

struct verify_key {
    EVP_PKEY *pkey;
    enum verify_key_kind kind;
    char *id; /* a JWK's; NULL: none */
};

/* Takes `pkey` and judges it; NULL, with the reason, where it is of another kind, too short, or a
 * point of small order. `pkey` NULL: "is no key". */
struct verify_key *key_judge(EVP_PKEY *pkey, struct err *err);

/* An Ed25519 key from its 32 bytes. */
struct verify_key *key_from_ed25519(const unsigned char bytes[static 32], struct err *err);

struct verify_key *key_read_jwk(struct str text, struct err *err);

#endif
