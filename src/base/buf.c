/* Growing byte buffers. The size doubles, never past the cap. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

void buf_init(struct buf *buf, size_t cap)
{
    *buf = (struct buf){.cap = cap};
}

void buf_release(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->cap);
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
}

/* The next size that holds `wanted` bytes. */
static size_t grown(const struct buf *buf, size_t wanted)
{
    size_t size = buf->size ? buf->size : 256;

    while (size < wanted)
        size = size > SIZE_MAX / 2 ? wanted : size * 2;
    return size > buf->cap && buf->cap >= wanted ? buf->cap : size;
}

int buf_add(struct buf *buf, const void *bytes, size_t len, struct err *err)
{
    if (len > buf->cap - buf->len)
        return err_set(err, ERR_INPUT, "larger than %zu bytes", buf->cap);
    if (buf->len + len > buf->size) {
        size_t size = grown(buf, buf->len + len);
        char *data = realloc(buf->data, size);

        if (!data)
            return err_set(err, ERR_AGAIN, "could not get %zu bytes of memory", size);
        buf->data = data;
        buf->size = size;
    }
    if (len)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    return 0;
}

char *buf_reserve(struct buf *buf, size_t len)
{
    if (buf->len + len > buf->size) {
        buf->size = grown(buf, buf->len + len);
        buf->data = mem_resize(buf->data, buf->size);
    }
    return buf->data + buf->len;
}

void buf_put(struct buf *buf, const void *bytes, size_t len)
{
    if (len == 0)
        return; /* an empty one has no data to add an offset to */
    memcpy(buf_reserve(buf, len), bytes, len);
    buf->len += len;
}

void buf_put_char(struct buf *buf, char c)
{
    *buf_reserve(buf, 1) = c;
    buf->len++;
}

void buf_put_str(struct buf *buf, struct str s)
{
    buf_put(buf, s.ptr, s.len);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    va_start(args, fmt);
    vsnprintf(buf_reserve(buf, (size_t)len + 1), (size_t)len + 1, fmt, args);
    va_end(args);
    buf->len += (size_t)len;
}

static void put_json_char(struct buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    if (c == '"' || c == '\\') {
        buf_put_char(buf, '\\');
        buf_put_char(buf, (char)c);
    } else if (c == '\n') {
        buf_put(buf, "\\n", 2);
    } else if (c < 0x20 || c == 0x7f) {
        buf_put(buf, escape, sizeof(escape));
    } else {
        buf_put_char(buf, (char)c);
    }
}

void buf_put_json_string(struct buf *buf, struct str s)
{
    buf_put_char(buf, '"');
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_sequence((struct str){s.ptr + i, s.len - i});

        if (len == 1)
            put_json_char(buf, (unsigned char)s.ptr[i]);
        else if (len > 1)
            buf_put(buf, s.ptr + i, len);
        else
            buf_put(buf, "\xef\xbf\xbd", 3);
        i += len ? len : 1;
    }
    buf_put_char(buf, '"');
}
