/* Public keys: what a sender's signature is checked with where the sender alone has the private
 * part. Read from the forms in which providers show them, judged when they are read (kind, size,
 * points on which anybody could sign), and immutable afterwards: any thread.
 *
 * A check says true only where OpenSSL says exactly 1, and leaves nothing in its error queue. */
#ifndef VERIFY_KEY_H
#define VERIFY_KEY_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/str.h"

enum verify_key_kind { VERIFY_KEY_ED25519, VERIFY_KEY_P256, VERIFY_KEY_RSA };

struct verify_key;

/* Whether `encoding` is a public key's: spki, pem-cert, ed25519-hex, whpk or jwk. */
bool verify_key_encoding(struct str encoding);

/* NULL with the reason, which begins with a verb ("is not ...", "holds ...") and never quotes the
 * text: people put private keys where public ones belong.
 *   spki         SubjectPublicKeyInfo (RFC 5280), as base64 of its DER or as PEM
 *   pem-cert     an X.509 certificate as PEM, the first where there are several. It is pinned:
 * neither its issuer nor its dates are looked at ed25519-hex  the 32 bytes of an Ed25519 key in
 * hexadecimal whpk         the same in base64, after a "whpk_" that may be there or not (Standard
 * Webhooks) jwk          a JSON Web Key (RFC 7517): EC P-256, RSA, or OKP Ed25519 */
struct verify_key *verify_key_read(struct str encoding, struct str text, struct err *err);
void verify_key_free(struct verify_key *key); /* takes NULL */

enum verify_key_kind verify_key_kind(const struct verify_key *key);
/* "an RSA key" and so on, for people. */
const char *verify_key_kind_text(enum verify_key_kind kind);
/* A JWK's "kid"; ptr NULL: none. Borrowed from the key. */
struct str verify_key_id(const struct verify_key *key);

/* The bytes of a symmetric JSON Web Key ("kty":"oct"), for keyed digests. */
struct secret *verify_key_read_oct(struct str text, struct err *err);

/* Whether a signature can be one of this key at all, by its length: before anything costly. */
bool verify_key_takes(const struct verify_key *key, size_t signature_len);

/* P-256: the signature is DER; RSA: PKCS #1 v1.5. `hash` has digest_size(digest) bytes. False for
 * Ed25519, which signs texts. */
bool verify_key_check_hash(const struct verify_key *key, enum digest digest,
                           const unsigned char *hash, struct str signature);
/* Ed25519: 64 bytes. False for the others. */
bool verify_key_check_text(const struct verify_key *key, struct str text, struct str signature);

#define VERIFY_KEY_P256_RAW 64 /* bytes of r and s side by side, as in a JWT */
#define VERIFY_KEY_P256_DER 72 /* the most that DER makes of them */

/* From r and s side by side to DER; returns its length. */
size_t verify_key_p256_der(const unsigned char raw[static VERIFY_KEY_P256_RAW],
                           unsigned char der[static VERIFY_KEY_P256_DER]);

#endif
