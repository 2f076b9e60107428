/* Bytes that grow up to a cap. For what a peer sizes (bodies) the cap is a limit and adding may
 * fail; for our own output use BUF_NO_CAP. Not thread-safe; may be handed over whole. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define BUF_NO_CAP SIZE_MAX

struct buf {
    char *data; /* NULL while empty */
    size_t len, size, cap;
};

/* In place; `cap` is the most bytes it will hold. */
void buf_init(struct buf *buf, size_t cap);
void buf_release(struct buf *buf);
void buf_clear(struct buf *buf); /* keeps the memory */

/* ERR_INPUT when the cap would be passed, ERR_AGAIN when there is no memory; nothing is added then.
 */
int buf_add(struct buf *buf, const void *bytes, size_t len, struct err *err) MUST_CHECK;

/* The same for buffers without a cap, whose content we size: they abort when memory runs out. */
void buf_put(struct buf *buf, const void *bytes, size_t len);
void buf_put_char(struct buf *buf, char c);
void buf_put_str(struct buf *buf, struct str s);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Room for `len` more bytes at the returned place; the caller fills them and adds to buf->len. */
char *buf_reserve(struct buf *buf, size_t len);
/* Appends s as a JSON string with quotes (RFC 8259); bytes that are no UTF-8 become U+FFFD. */
void buf_put_json_string(struct buf *buf, struct str s);

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data ? buf->data : "", buf->len};
}

#endif
