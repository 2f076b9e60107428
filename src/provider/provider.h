/* A provider: from a request's bytes to events or a refusal. Compiled once per configuration from
 * its section; no I/O, never blocks. Immutable after provider_new(); provider_read() is for one
 * thread at a time (it reuses keyed contexts). */
#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "core/event.h"
#include "core/refusal.h"
#include "core/request.h"
#include "handshake/handshake.h"
#include "provider/reply.h"
#include "verify/verify.h"

struct provider;

/* NULL and mistakes (with file and line) when the section cannot work: unknown scheme, bad
 * template, bad source, a secret that does not decode. Borrows `config`, which the caller keeps
 * alive. */
struct provider *provider_new(const struct provider_config *config, struct mistakes *mistakes);
/* The same with the secret that the provider has handed over and a person has accepted; NULL: none
 * yet, then nothing verifies. Only where the section has no secret of its own. */
struct provider *provider_new_captured(const struct provider_config *config,
                                       const struct secret *captured, struct mistakes *mistakes);
void provider_free(struct provider *provider); /* takes NULL */

const struct provider_config *provider_config(const struct provider *provider);

/* Its answer to stored and duplicate events; `status` 0: the usual one. As long as the provider. */
const struct reply *provider_reply(const struct provider *provider);

/* What proves the endpoint to the provider; as long as the provider. */
const struct handshakes *provider_handshakes(const struct provider *provider);
#define PROVIDER_NO_ELEMENT SIZE_MAX

/* What a request holds, in the order in which it was received: one event; or, where the provider
 * splits its requests, any number of them, to be stored all or none. */
struct provider_events {
    struct event *list; /* in the arena; borrows from request, provider and arena */
    size_t count;
    bool split;
    /* With a refusal: which element of the split array it is about, from 0; PROVIDER_NO_ELEMENT:
     * the request. */
    size_t element;
};

/* Checks in the contract's order: signature header there, signature, timestamp window, format,
 * identity. A body that is encoded is inflated after it was verified, up to the provider's
 * max_body. REFUSAL_NONE: *events is set. Otherwise only its `element`. */
enum refusal provider_read(struct provider *provider, const struct request *request,
                           struct arena *arena, struct provider_events *events);

/* The two halves of provider_read, for diagnosis and release from quarantine. */
enum refusal provider_verify(struct provider *provider, const struct request *request,
                             bool *verified);
/* The secret that verified the request which provider_verify() judged last; ptr NULL: none. */
struct str provider_matched(const struct provider *provider);
enum refusal provider_parse(struct provider *provider, const struct request *request, bool verified,
                            struct arena *arena, struct provider_events *events);

/* What the provider's scheme finds in a request, for people; see verify_explain(). */
void provider_explain(struct provider *provider, const struct request *request, verify_tell *tell,
                      void *argument);

/* How often the provider's n-th secret has verified a request since the last call. Where the
 * section names none, secret 0 is what a handshake has handed over. */
int64_t provider_take_uses(struct provider *provider, size_t secret);

/* Signs `body` as the provider itself would, for `inboxctl send`: appends the headers to be sent.
 * `age_s`: how old the timestamp is to be. `bad`: sign wrongly on purpose. ERR_NEVER where the
 * scheme cannot be signed here (public keys). */
int provider_sign(struct provider *provider, struct request *request, int64_t age_s, bool bad,
                  struct arena *arena, struct header *headers, size_t max_headers, size_t *count,
                  struct err *err) MUST_CHECK;

#endif
