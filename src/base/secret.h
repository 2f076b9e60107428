/* Bytes that must never be printed: an opaque type, so that printing one does not compile. Wiped
 * when freed. Immutable and reference-counted (atomic), so that a configuration snapshot may be
 * shared between threads. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/str.h"

struct secret;

struct secret *secret_new(struct str bytes); /* copies; the caller wipes its own copy */
struct secret *secret_ref(struct secret *secret);
void secret_unref(struct secret *secret); /* takes NULL */

/* For the cryptographic layer only: borrowed, never to be logged or copied into an error text. */
struct str secret_reveal(const struct secret *secret);
size_t secret_len(const struct secret *secret);

/* Overwrites bytes in a way that the compiler keeps. */
void secret_wipe(void *bytes, size_t len);

#endif
