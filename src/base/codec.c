/* RFC 4648 encodings. Secrets pass through here, so nothing is logged and tables do not depend on
 * them more than the data's length. */
#include "base/codec.h"

static int hex_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

ssize_t codec_hex_decode(struct str text, unsigned char *out, size_t max)
{
    if (text.len % 2 != 0 || text.len / 2 > max)
        return -1;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_value((unsigned char)text.ptr[i]),
            low = hex_value((unsigned char)text.ptr[i + 1]);

        if (high < 0 || low < 0)
            return -1;
        out[i / 2] = (unsigned char)(high << 4 | low);
    }
    return (ssize_t)(text.len / 2);
}

static int base64_value(unsigned char c, int flags)
{
    bool standard = !(flags & BASE64_URL), url = flags & (BASE64_URL | BASE64_EITHER_ALPHABET);

    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if ((c == '+' && standard) || (c == '-' && url))
        return 62;
    if ((c == '/' && standard) || (c == '_' && url))
        return 63;
    return -1;
}

/* Takes the padding off; false where it is wrong. */
static bool strip_padding(struct str *text, int flags)
{
    size_t len = text->len;

    while (len > 0 && text->len - len < 2 && text->ptr[len - 1] == '=')
        len--;
    if (len % 4 == 1)
        return false;
    if (text->len == len)
        return len % 4 == 0 || (flags & BASE64_PADDING_OPTIONAL);
    if (text->len % 4 != 0)
        return false;
    text->len = len;
    return true;
}

ssize_t codec_base64_decode(struct str text, int flags, unsigned char *out, size_t max)
{
    unsigned bits = 0, held = 0;
    size_t len = 0;

    if (!strip_padding(&text, flags) || text.len / 4 * 3 + text.len % 4 * 3 / 4 > max)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64_value((unsigned char)text.ptr[i], flags);

        if (value < 0)
            return -1;
        bits = bits << 6 | (unsigned)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[len++] = (unsigned char)(bits >> held);
        }
    }
    return (bits & ((1U << held) - 1)) != 0 ? -1 : (ssize_t)len;
}

void codec_hex_encode(const void *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[p[i] >> 4];
        *out++ = digits[p[i] & 15];
    }
    *out = '\0';
}

void codec_base64_encode(const void *bytes, size_t len, bool url, char *out)
{
    const char *digits = url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                             : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i += 3) {
        unsigned bits = (unsigned)p[i] << 16;

        if (i + 1 < len)
            bits |= (unsigned)p[i + 1] << 8;
        if (i + 2 < len)
            bits |= p[i + 2];
        *out++ = digits[bits >> 18];
        *out++ = digits[bits >> 12 & 63];
        *out++ = i + 1 < len ? digits[bits >> 6 & 63] : '=';
        *out++ = i + 2 < len ? digits[bits & 63] : '=';
    }
    *out = '\0';
}

ssize_t codec_percent_decode(struct str text, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '%') {
            unsigned char byte;

            if (text.len - i < 3 ||
                codec_hex_decode((struct str){text.ptr + i + 1, 2}, &byte, 1) != 1)
                return -1;
            c = (char)byte;
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out[len++] = c;
    }
    return (ssize_t)len;
}
