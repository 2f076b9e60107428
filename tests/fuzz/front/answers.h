/* What a sender got from the server, read as strictly as a client could. */
#ifndef FUZZ_FRONT_ANSWERS_H
#define FUZZ_FRONT_ANSWERS_H

#include <stddef.h>

#include "base/str.h"

struct answers {
    size_t count;    /* interim ones left out */
    size_t accepted; /* of those, that say that events are committed, one or more */
};

/* Ends the process where `bytes` are not whole answers one behind the other, each of them either
 * one of ours or what the library says by itself, and nothing behind one that closes. */
struct answers answers_read(struct str bytes);

#endif
