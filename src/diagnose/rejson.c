/* One pass over tokens. The text is known to be JSON, so that a string ends, an escape is whole and
 * a bracket has its partner. */
#include "diagnose/rejson.h"

#include <stdbool.h>

#include "base/utf8.h"

/* ---- strings ---- */

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        char c = digits[i];

        value = value * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static void put_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x800) {
        buf_put_char(out, (char)(0xc0 | code >> 6));
    } else {
        if (code < 0x10000) {
            buf_put_char(out, (char)(0xe0 | code >> 12));
        } else {
            buf_put_char(out, (char)(0xf0 | code >> 18));
            buf_put_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        }
        buf_put_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
    }
    buf_put_char(out, (char)(0x80 | (code & 0x3f)));
}

static uint32_t decode_utf8(struct str sequence)
{
    unsigned char first = (unsigned char)sequence.ptr[0];
    uint32_t code = sequence.len == 2 ? first & 0x1f : sequence.len == 3 ? first & 0x0f : first & 7;

    for (size_t i = 1; i < sequence.len; i++)
        code = code << 6 | ((unsigned char)sequence.ptr[i] & 0x3f);
    return code;
}

static void put_ascii(struct buf *out, uint32_t code)
{
    if (code < 0x10000)
        buf_printf(out, "\\u%04x", (unsigned)code);
    else
        buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
                   (unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
}

/* A \uXXXX at the start of `rest`; a pair of surrogates is one. Returns how long it is; 0: none. */
static size_t escaped_code(struct str rest, uint32_t *code)
{
    if (rest.len < 6 || rest.ptr[0] != '\\' || rest.ptr[1] != 'u')
        return 0;
    *code = hex4(rest.ptr + 2);
    if (*code >= 0xd800 && *code < 0xdc00 && rest.len >= 12 && rest.ptr[6] == '\\' &&
        rest.ptr[7] == 'u') {
        uint32_t low = hex4(rest.ptr + 8);

        if (low >= 0xdc00 && low < 0xe000) {
            *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
            return 12;
        }
    }
    return 6;
}

/* Writes what stands at the start of `rest` otherwise; returns how many bytes of it that were, 0:
 * it stays. */
static size_t put_otherwise(struct str rest, enum rejson_escapes escapes, struct buf *out)
{
    bool ascii = escapes == ESCAPES_ASCII || escapes == ESCAPES_PHP;
    bool slash = escapes == ESCAPES_SLASH || escapes == ESCAPES_PHP;
    char c = rest.ptr[0];
    uint32_t code = 0;
    size_t len;

    if (ascii && (c & 0x80) && (len = utf8_sequence(rest)) > 1) {
        put_ascii(out, decode_utf8((struct str){rest.ptr, len}));
        return len;
    }
    if (slash && c == '/') {
        buf_put(out, "\\/", 2);
        return 1;
    }
    if (escapes == ESCAPES_NOSLASH && str_starts(rest, STR("\\/"))) {
        buf_put_char(out, '/');
        return 2;
    }
    if (escapes == ESCAPES_HTML && (c == '<' || c == '>' || c == '&')) {
        put_ascii(out, (uint32_t)c);
        return 1;
    }
    len = escaped_code(rest, &code);
    if (len && escapes == ESCAPES_NOHTML && (code == '<' || code == '>' || code == '&')) {
        buf_put_char(out, (char)code);
        return len;
    }
    if (len && escapes == ESCAPES_UTF8 && code >= 0x80 && !(code >= 0xd800 && code < 0xe000)) {
        put_utf8(out, code);
        return len;
    }
    return 0;
}

/* The string at the start of `rest`, with its quotes; returns its length. */
static size_t put_string(struct str rest, enum rejson_escapes escapes, struct buf *out)
{
    size_t i = 1;

    buf_put_char(out, '"');
    while (i < rest.len && rest.ptr[i] != '"') {
        struct str here = {rest.ptr + i, rest.len - i};
        size_t taken = put_otherwise(here, escapes, out);

        if (taken == 0) {
            taken = here.ptr[0] == '\\' && here.len > 1 ? 2 : 1; /* an escaped quote is no end */
            buf_put(out, here.ptr, taken);
        }
        i += taken;
    }
    buf_put_char(out, '"');
    return i + 1;
}

/* ---- what stands between them ---- */

static void new_line(enum rejson_blanks blanks, size_t depth, struct buf *out)
{
    size_t width = blanks == BLANKS_INDENT_2 ? 2 : blanks == BLANKS_INDENT_4 ? 4 : 1;

    buf_put_char(out, '\n');
    for (size_t i = 0; i < depth * width; i++)
        buf_put_char(out, blanks == BLANKS_INDENT_TAB ? '\t' : ' ');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first of the text that is no blank, from `i` on. */
static char next_token(struct str text, size_t i)
{
    while (i < text.len && is_blank(text.ptr[i]))
        i++;
    return i < text.len ? text.ptr[i] : '\0';
}

static void put_mark(struct str text, size_t at, enum rejson_blanks blanks, size_t *depth,
                     struct buf *out)
{
    bool indent = blanks >= BLANKS_INDENT_2;
    char mark = text.ptr[at], next = next_token(text, at + 1);

    switch (mark) {
    case '{':
    case '[':
        buf_put_char(out, mark);
        ++*depth;
        if (indent && next != '}' && next != ']')
            new_line(blanks, *depth, out);
        return;
    case '}':
    case ']':
        --*depth;
        if (indent && out->len && out->data[out->len - 1] != '{' && out->data[out->len - 1] != '[')
            new_line(blanks, *depth, out);
        buf_put_char(out, mark);
        return;
    case ',':
        buf_put_char(out, mark);
        if (indent)
            new_line(blanks, *depth, out);
        else if (blanks == BLANKS_SPACED)
            buf_put_char(out, ' ');
        return;
    case ':':
        buf_put_char(out, mark);
        if (indent || blanks == BLANKS_SPACED)
            buf_put_char(out, ' ');
        return;
    default:
        buf_put_char(out, mark);
    }
}

void rejson(struct str text, enum rejson_blanks blanks, enum rejson_escapes escapes,
            struct buf *out)
{
    size_t depth = 0, i = 0;

    while (i < text.len) {
        if (text.ptr[i] == '"')
            i += put_string((struct str){text.ptr + i, text.len - i}, escapes, out);
        else if (blanks == BLANKS_AS_SENT)
            buf_put_char(out, text.ptr[i++]);
        else if (is_blank(text.ptr[i]))
            i++;
        else
            put_mark(text, i++, blanks, &depth, out);
    }
}
