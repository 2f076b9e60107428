/* Sample events for `inboxctl send`: a body of the provider's kind with a fresh id, and the headers
 * that carry its metadata. */
#ifndef CTL_SAMPLE_H
#define CTL_SAMPLE_H

#include "base/buf.h"
#include "base/mem.h"
#include "config/config.h"
#include "provider/provider.h"

#define SAMPLE_ID_SIZE 37

/* A new random identity, 36 characters in the form of a UUID (RFC 9562, version 4). */
void sample_new_id(char id[static SAMPLE_ID_SIZE]);

/* The body: `text` with every "{id}" replaced, or a sample of the provider's kind where text is
 * absent. From the arena. */
struct str sample_body(const struct provider_config *provider, struct str text, const char *id,
                       struct arena *arena);

/* Appends a body that has what the provider's sources read: sample_body()'s for those who have no
 * sample of their own. */
void sample_shape_body(const struct provider_config *provider, const char *id, struct arena *arena,
                       struct buf *out);

/* The unsigned headers that the provider's identity and type are read from; returns how many, at
 * most `max`. */
size_t sample_headers(const struct provider_config *provider, const char *id, struct arena *arena,
                      struct header *headers, size_t max);

#endif
