/* Any bytes as a compressed text: no crash, never more than the bound, and what was accepted under
 * a bound is accepted as the same text under a larger one and refused under a smaller one. The
 * first byte chooses format and bound. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bounds(struct str packed, enum inflate_format format, struct str text)
{
    struct buf wide, narrow;

    buf_init(&wide, text.len + 1);
    if (inflate_text(packed, format, &wide) != INFLATE_OK || !str_equal(buf_str(&wide), text))
        abort();
    buf_release(&wide);
    if (text.len == 0)
        return;
    buf_init(&narrow, text.len - 1);
    if (inflate_text(packed, format, &narrow) != INFLATE_TOO_LARGE)
        abort();
    buf_release(&narrow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out;
    enum inflate_format format;
    struct str packed;

    if (size == 0)
        return 0;
    format = data[0] & 1 ? INFLATE_GZIP : INFLATE_DEFLATE;
    packed = (struct str){(const char *)data + 1, size - 1};
    buf_init(&out, (size_t)(data[0] >> 1) << 10);
    if (inflate_text(packed, format, &out) == INFLATE_OK)
        check_bounds(packed, format, buf_str(&out));
    if (out.len > out.cap)
        abort();
    buf_release(&out);
    return 0;
}
