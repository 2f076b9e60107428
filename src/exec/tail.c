/* A ring: the byte that came as number n is at n modulo its size. */
#include "exec/tail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define REPLACEMENT STR("\xef\xbf\xbd") /* U+FFFD */
#define CHARACTER_MAX 4

void tail_init(struct tail *tail, size_t size)
{
    *tail = (struct tail){.bytes = mem_alloc(size), .size = size};
}

void tail_release(struct tail *tail)
{
    free(tail->bytes);
    tail->bytes = NULL;
}

void tail_add(struct tail *tail, const char *bytes, size_t len)
{
    if (len > tail->size) {
        bytes += len - tail->size;
        tail->all += len - tail->size;
        len = tail->size;
    }
    while (len > 0) {
        size_t at = tail->all % tail->size;
        size_t part = len < tail->size - at ? len : tail->size - at;

        memcpy(tail->bytes + at, bytes, part);
        tail->all += part;
        bytes += part;
        len -= part;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static struct str without_blanks(struct str text)
{
    while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
        text.len--;
    while (text.len > 0 && is_blank(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    return text;
}

/* Without the rest of a character whose beginning was dropped. */
static struct str from_character(struct str text)
{
    for (int i = 1; i < CHARACTER_MAX && text.len > 0; i++) {
        if (((unsigned char)text.ptr[0] & 0xc0) != 0x80)
            break;
        text.ptr++;
        text.len--;
    }
    return text;
}

static void put_safe(struct buf *buf, struct str text)
{
    while (text.len > 0) {
        size_t len = utf8_sequence(text);

        if (len == 0 || text.ptr[0] == '\0') {
            buf_put_str(buf, REPLACEMENT);
            len = 1;
        } else {
            buf_put(buf, text.ptr, len);
        }
        text.ptr += len;
        text.len -= len;
    }
}

void tail_text(const struct tail *tail, struct buf *buf, bool *cut)
{
    size_t at = tail->all % tail->size;
    struct str text;
    struct buf whole;

    *cut = tail->all > tail->size;
    buf_init(&whole, BUF_NO_CAP);
    if (*cut)
        buf_put(&whole, tail->bytes + at, tail->size - at);
    buf_put(&whole, tail->bytes, *cut ? at : (size_t)tail->all);
    text = buf_str(&whole);
    if (*cut)
        text = from_character(text);
    put_safe(buf, without_blanks(text));
    buf_release(&whole);
}
