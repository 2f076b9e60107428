/* What a body may have been before something between sender and daemon changed it: another line
 * end, other blanks in the JSON, other escapes. Pure, any thread. */
#ifndef DIAGNOSE_BODIES_H
#define DIAGNOSE_BODIES_H

#include <stdbool.h>

#include "base/mem.h"
#include "core/request.h"

/* The n-th variation, from 0. *body: it, in `arena`, or ptr NULL where it does not apply or is what
 * was received. *what: what must have happened, as the end of a sentence that begins with "the
 * signature fits the body". False: there is no n-th. */
bool bodies_vary(size_t n, const struct request *request, struct arena *arena, struct str *body,
                 const char **what);

#endif
