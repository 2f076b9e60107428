/* Errors: what went wrong and whose turn it is.
 *
 * A function that can fail returns 0 or -1 and takes `struct err *err` last; its outputs are
 * untouched on failure. The kind decides, in one place per caller, what happens next. The text is
 * for people: lower case, no full stop, no function names, what was tried and why it failed. "could
 * not" may work later, "cannot" never will. Not shared between threads: each call chain has its
 * own. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/attr.h"

enum err_kind {
    ERR_NONE = 0,
    ERR_INPUT, /* the peer's or the user's input is wrong: 4xx, dead, or a message with what would
                  be right */
    ERR_AGAIN, /* may work later: 503, retry */
    ERR_NEVER, /* an operator has to change something */
};

struct err {
    enum err_kind kind;
    char text[480]; /* NUL-terminated, cut at a character boundary where it does not fit */
};

/* Sets kind and text; always returns -1, so that callers can `return err_set(...)`. `err` may be
 * NULL. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts "prefix: " before the text; keeps the kind; returns -1. */
int err_prefix(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Forgets what was there. */
void err_clear(struct err *err);

#endif
