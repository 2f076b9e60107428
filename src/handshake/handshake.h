/* Handshakes: requests by which a provider proves an endpoint, before or between its events. Each
 * is answered as its documentation says and stores nothing. Compiled once from `handshake =
 * NAME [WORDS], ...` of a provider's section; docs/handshakes.md describes every name. No I/O,
 * never blocks; immutable, any thread.
 *
 * What is reflected to a sender is text/plain or JSON with "nosniff", never HTML, and bounded. */
#ifndef HANDSHAKE_HANDSHAKE_H
#define HANDSHAKE_HANDSHAKE_H

#include <stdbool.h>

#include "base/mem.h"
#include "config/config.h"
#include "core/refusal.h"
#include "core/request.h"

struct handshakes;

/* Never NULL where nothing is wrong, also for a section without handshakes. NULL and mistakes (with
 * file and line): unknown name, wrong words, a secret that is missing. Borrows `config`. */
struct handshakes *handshakes_new(const struct provider_config *config, struct mistakes *mistakes);
void handshakes_free(struct handshakes *handshakes); /* takes NULL */

/* Whether requests of that method are looked at at all: those of events (`methods`), and what the
 * handshakes need. */
bool handshakes_take(const struct handshakes *handshakes, struct str method);

/* Those methods, as the header Allow has them. Lives as long as `handshakes`. */
const char *handshakes_allow(const struct handshakes *handshakes);

/* When a request is looked at. Those that are no POST, only before. */
enum handshake_stage {
    HANDSHAKE_BEFORE_VERIFY = 1, /* whoever sent it */
    HANDSHAKE_AFTER_VERIFY = 2,  /* its signature is right */
};

#define HANDSHAKE_HEADERS_MAX 4

struct handshake_reply {
    enum refusal refusal; /* REFUSAL_NONE: the answer follows */
    unsigned status;
    const char *content_type;
    struct str body;
    struct header headers[HANDSHAKE_HEADERS_MAX];
    size_t header_count;
    struct str capture; /* a secret that has to be kept before the answer leaves; ptr NULL: none */
    struct str visit;   /* an address that a person has to open to complete it; ptr NULL: none */
};

/* Whether the request is a handshake; then *reply is set, and borrows from request and arena. The
 * body has to be complete. A request of a method that events do not
 * have always is one, be it a refused one. `secret`:
 * the one that verified the request; ptr NULL: none. */
bool handshakes_answer(const struct handshakes *handshakes, enum handshake_stage stage,
                       const struct request *request, struct str secret, struct arena *arena,
                       struct handshake_reply *reply);

/* Whether a body is nothing but a token that its sender hands over (token-capture), whatever the
 * section's handshakes. */
bool handshake_hands_over(struct str body);

#endif
