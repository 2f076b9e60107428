/* The end of what a program says: any number of bytes come, the last ones stay. One thread. */
#ifndef EXEC_TAIL_H
#define EXEC_TAIL_H

#include <stdint.h>

#include "base/buf.h"

struct tail {
    char *bytes; /* ring */
    size_t size;
    uint64_t all; /* bytes that came */
};

void tail_init(struct tail *tail, size_t size); /* size: the most bytes that are kept; at least 1 */
void tail_release(struct tail *tail);           /* may be zeroed */
void tail_add(struct tail *tail, const char *bytes, size_t len);

/* Appends what was kept, as text that PostgreSQL takes: it begins and ends at a character, what is
 * no UTF-8 or a NUL becomes U+FFFD, blanks and line ends at both ends are left out. `*cut` where
 * something is missing at its beginning. */
void tail_text(const struct tail *tail, struct buf *buf, bool *cut);

#endif
