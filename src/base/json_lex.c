/* Bytes of JSON and escapes. One decoder for everybody, so that what the scan accepts, what a
 * pointer compares and what the repair writes cannot differ. */
#include "base/json_lex.h"

#define BLANK JSON_C_BLANK
#define PLAIN JSON_C_PLAIN
#define DIGIT (JSON_C_PLAIN | JSON_C_NUMBER | JSON_C_DIGIT)
#define OF_NUMBER (JSON_C_PLAIN | JSON_C_NUMBER)

const unsigned char json_class[256] = {
    ['\t'] = BLANK,        ['\n'] = BLANK,         ['\r'] = BLANK,        [' '] = BLANK | PLAIN,
    ['!'] = PLAIN,         ['#' ... '*'] = PLAIN,  ['+'] = OF_NUMBER,     [','] = PLAIN,
    ['-'] = OF_NUMBER,     ['.'] = OF_NUMBER,      ['/'] = PLAIN,         ['0' ... '9'] = DIGIT,
    [':' ... 'D'] = PLAIN, ['E'] = OF_NUMBER,      ['F' ... '['] = PLAIN, [']' ... 'd'] = PLAIN,
    ['e'] = OF_NUMBER,     ['f' ... 0x7f] = PLAIN,
};

/* Four hexadecimal digits at p; -1: they are not. */
static int32_t read_hex4(const unsigned char *p, const unsigned char *end)
{
    int32_t value = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        unsigned char c = p[i];
        unsigned char letter = c | 0x20;

        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value * 16 + (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* p is after "\u". */
static const unsigned char *read_unicode(const unsigned char *p, const unsigned char *end,
                                         uint32_t *character)
{
    int32_t first = read_hex4(p, end);
    int32_t second;

    if (first < 0)
        return NULL;
    *character = (uint32_t)first;
    p += 4;
    if (first < 0xd800 || first > 0xdbff || end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return p;
    second = read_hex4(p + 2, end);
    if (second < 0xdc00 || second > 0xdfff)
        return p; /* a lone one; what follows is read by itself */
    *character = 0x10000 + (((uint32_t)first & 0x3ff) << 10) + ((uint32_t)second & 0x3ff);
    return p + 6;
}

const unsigned char *json_read_escape(const unsigned char *p, const unsigned char *end,
                                      uint32_t *character)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    if (end - p < 2)
        return NULL;
    if (p[1] == 'u')
        return read_unicode(p + 2, end, character);
    letter = memchr(letters, p[1], sizeof(letters) - 1);
    if (!letter)
        return NULL;
    *character = (unsigned char)meanings[letter - letters];
    return p + 2;
}

char *json_write_utf8(char *out, uint32_t character)
{
    if (character < 0x80) {
        *out++ = (char)character;
        return out;
    }
    if (character < 0x800) {
        *out++ = (char)(0xc0 | character >> 6);
    } else {
        if (character < 0x10000) {
            *out++ = (char)(0xe0 | character >> 12);
        } else {
            *out++ = (char)(0xf0 | character >> 18);
            *out++ = (char)(0x80 | (character >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (character >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (character & 0x3f));
    return out;
}

enum json_kind json_kind_of(unsigned char first)
{
    switch (first) {
    case '"':
        return JSON_KIND_STRING;
    case '{':
        return JSON_KIND_OBJECT;
    case '[':
        return JSON_KIND_ARRAY;
    case 't':
        return JSON_KIND_TRUE;
    case 'f':
        return JSON_KIND_FALSE;
    case 'n':
        return JSON_KIND_NULL;
    default:
        return JSON_KIND_NUMBER;
    }
}

bool json_name_is(struct str raw, struct str name)
{
    const unsigned char *p = (const unsigned char *)raw.ptr, *end = p + raw.len;
    size_t at = 0;

    while (p < end) {
        char bytes[4];
        size_t len = 1;

        if (*p == '\\') {
            uint32_t character;

            p = json_read_escape(p, end, &character);
            if (!p)
                return false;
            if (character == 0 || json_is_surrogate(character))
                character = 0xfffd;
            len = (size_t)(json_write_utf8(bytes, character) - bytes);
        } else {
            bytes[0] = (char)*p++;
        }
        if (len > name.len - at || memcmp(name.ptr + at, bytes, len) != 0)
            return false;
        at += len;
    }
    return at == name.len;
}
