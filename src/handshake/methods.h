/* The methods of HTTP that a provider takes, as a set. Pure, any thread. */
#ifndef HANDSHAKE_METHODS_H
#define HANDSHAKE_METHODS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum method {
    METHOD_GET = 1,
    METHOD_HEAD = 2,
    METHOD_OPTIONS = 4,
    METHOD_POST = 8,
    METHOD_PUT = 16,
    METHOD_PATCH = 32,
    METHOD_DELETE = 64,
};

/* 0: none of them. Case counts (RFC 9110 section 9.1). */
unsigned method_of(struct str name);

/* "GET, POST", as the header Allow has them. Lives in `arena`. */
const char *methods_text(unsigned methods, struct arena *arena);

/* `methods = POST, PUT`: what events may come with; not HEAD and OPTIONS, whose answers have no
 * say. */
int methods_parse(struct str text, unsigned *methods, struct err *err) MUST_CHECK;

#endif
