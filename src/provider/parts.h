/* Inside provider/ only: what a provider is made of. */
#ifndef PROVIDER_PARTS_H
#define PROVIDER_PARTS_H

#include "base/buf.h"
#include "provider/cloudevent.h"
#include "provider/format.h"
#include "provider/provider.h"
#include "provider/reply.h"
#include "provider/source.h"
#include "provider/split.h"
#include "route/route.h"
#include "verify/verify.h"

struct provider {
    const struct provider_config *config; /* borrowed */
    struct verify_scheme *scheme;         /* NULL: verify = none */
    struct handshakes *handshakes;
    size_t matched;      /* which secret verified last; secret_count: none */
    int64_t *uses;       /* one a secret: requests that it verified; at least one, for the secret
                            that a handshake hands over */
    struct arena *arena; /* sources and pointers */
    struct format format;
    bool signs_inflated; /* signatures are over what a packed body holds */
    struct reply reply;
    const struct source *event_id, *event_type, *key, *event_time;
    const struct source *required[CLOUDEVENT_REQUIRED]; /* NULL: no CloudEvents */
    struct scope scope;
    struct split split;                     /* where scope.splits */
    struct json_paths *paths[SCOPE_LEVELS]; /* NULL: nothing is read there */
    struct routes routes;                   /* say how an event is claimed */
    struct buf headers;                     /* scratch, used again for every request */
};

/* Judges a request's signature; not with verify = none. */
enum refusal provider_judge(struct provider *provider, const struct request *request,
                            bool *verified);

#endif
