/* A loop around zlib, which checks headers, checksums and lengths by itself; what comes after the
 * end of a stream is ours to judge. The output goes through a block on the stack, so that a
 * buffer never grows for bytes that do not come. */
#include "base/inflate.h"

#include <limits.h>
#include <stdbool.h>
#include <zlib.h>

#define BLOCK (32 * 1024)

/* zlib's windowBits: the largest window, and which header is expected. */
#define BITS_ZLIB 15
#define BITS_GZIP (15 + 16)
#define BITS_RAW (-15)

/* RFC 1950 section 2.2: method 8, a window of at most 32 KB, no preset dictionary, and the check of
 * both bytes. A raw stream cannot begin so, unless its encoder left rubbish in the spare bits of an
 * uncompressed block. */
static bool has_zlib_header(struct str packed)
{
    unsigned method, flags;

    if (packed.len < 2)
        return false;
    method = (unsigned char)packed.ptr[0];
    flags = (unsigned char)packed.ptr[1];
    return (method & 0x0f) == 8 && method >> 4 <= 7 && !(flags & 0x20) &&
           (method << 8 | flags) % 31 == 0;
}

static int window_bits(struct str packed, enum inflate_format format)
{
    switch (format) {
    case INFLATE_GZIP:
        return BITS_GZIP;
    case INFLATE_DEFLATE:
        return has_zlib_header(packed) ? BITS_ZLIB : BITS_RAW;
    }
    return BITS_RAW;
}

/* zlib counts its input in an unsigned int: hands it the next piece. */
static void feed(z_stream *stream, struct str *rest)
{
    uInt len = rest->len < UINT_MAX ? (uInt)rest->len : UINT_MAX;

    stream->next_in = (z_const Bytef *)rest->ptr;
    stream->avail_in = len;
    rest->ptr += len;
    rest->len -= len;
}

static enum inflate_result add(struct buf *out, const unsigned char *block, size_t len)
{
    struct err err;

    if (buf_add(out, block, len, &err) == 0)
        return INFLATE_OK;
    return err.kind == ERR_INPUT ? INFLATE_TOO_LARGE : INFLATE_NO_MEMORY;
}

/* Inflates one stream, to its end. */
static enum inflate_result run(z_stream *stream, struct str *rest, struct buf *out)
{
    unsigned char block[BLOCK];
    int state = Z_OK;

    while (state != Z_STREAM_END) {
        enum inflate_result result;

        if (stream->avail_in == 0)
            feed(stream, rest);
        stream->next_out = block;
        stream->avail_out = BLOCK;
        state = inflate(stream, Z_NO_FLUSH);
        if (state == Z_MEM_ERROR)
            return INFLATE_NO_MEMORY;
        /* Z_BUF_ERROR: nothing is left to go on with. */
        if (state != Z_OK && state != Z_STREAM_END)
            return INFLATE_BAD;
        result = add(out, block, BLOCK - stream->avail_out);
        if (result != INFLATE_OK)
            return result;
    }
    return INFLATE_OK;
}

enum inflate_result inflate_text(struct str packed, enum inflate_format format, struct buf *out)
{
    z_stream stream = {0};
    enum inflate_result result;

    if (packed.len == 0)
        return INFLATE_BAD;
    if (inflateInit2(&stream, window_bits(packed, format)) != Z_OK)
        return INFLATE_NO_MEMORY;
    result = run(&stream, &packed, out);
    while (result == INFLATE_OK && stream.avail_in + packed.len > 0) {
        if (format != INFLATE_GZIP || inflateReset(&stream) != Z_OK)
            result = INFLATE_BAD;
        else
            result = run(&stream, &packed, out);
    }
    (void)inflateEnd(&stream);
    return result;
}
