/* Credentials in requests: what is one, and how it is remembered without being kept. A received
 * signature is none; a token, a password and whatever else opens something is. Pure functions, any
 * thread. */
#ifndef QUARANTINE_CONCEAL_H
#define QUARANTINE_CONCEAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "config/config.h"
#include "quarantine/refused.h"

/* Whether the value of that header, or of that query parameter, is a credential: by its name,
 * because the provider's scheme compares it, or because the configuration wants it hidden
 * (`redact`) and the provider's section does not read it. What a scheme reads a signature from is
 * none. */
bool conceal_header(const struct provider_config *provider, struct str name);
bool conceal_parameter(const struct provider_config *provider, struct str name);

/* Whether it is shown to nobody, although it is kept: what `verify = jwt` reads has to be verified
 * again, and opens something all the same. */
bool conceal_from_view_header(const struct provider_config *provider, struct str name);
bool conceal_from_view_parameter(const struct provider_config *provider, struct str name);

/* The part of a header's value that is the credential: all, or what follows "Bearer " and the like,
 * or a prefix that the provider's `signature` names. Borrows from `value`. */
struct str conceal_part(const struct provider_config *provider, struct str value);

/* SHA-256 of salt and credential. */
void conceal_hash(const unsigned char salt[static REFUSED_SALT_SIZE], struct str credential,
                  unsigned char hash[static REFUSED_HASH_SIZE]);

/* Which of today's secrets it was, as it stood in the request: the hash is compared with that of
 * each secret, and of its base64 text (as `basic` shows it). Appends it to `out`; false, and
 * nothing is appended: none of them. */
bool conceal_reveal(const struct provider_config *provider,
                    const unsigned char salt[static REFUSED_SALT_SIZE],
                    const unsigned char hash[static REFUSED_HASH_SIZE], struct buf *out);

#endif
