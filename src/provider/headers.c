/* Headers into jsonb. jsonb holds no NUL, and a terminal no control characters: both become U+FFFD.
 */
#include "provider/headers.h"

#include "base/attr.h"
#include "base/utf8.h"
#include "config/names.h"

/* What the names of headers hold whose values open something. A received signature is no secret; a
 * received token is. */
static const struct secret_word {
    struct str text;
    bool alone; /* only between other characters than letters: "auth", but not "author" */
} secret_words[] = {
    {{"access-key", 10}, false},
    {{"api-key", 7}, false},
    {{"apikey", 6}, false},
    {{"auth", 4}, true},
    {{"authorization", 13}, false},
    {{"cookie", 6}, false},
    {{"credential", 10}, false},
    {{"csrf", 4}, false},
    {{"functions-key", 13}, false},
    {{"jwt", 3}, true},
    {{"passphrase", 10}, false},
    {{"passwd", 6}, false},
    {{"password", 8}, false},
    {{"private-key", 11}, false},
    {{"secret", 6}, false},
    {{"session", 7}, false},
    {{"subscription-key", 16}, false},
    {{"token", 5}, false},
};

static bool is_letter(struct str name, size_t at)
{
    return at < name.len && (name.ptr[at] | 0x20) >= 'a' && (name.ptr[at] | 0x20) <= 'z';
}

static bool word_at(struct str name, size_t at)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_words); i++) {
        struct str word = secret_words[i].text;

        if (name.len - at < word.len ||
            !str_equal_nocase((struct str){name.ptr + at, word.len}, word))
            continue;
        if (!secret_words[i].alone ||
            (!is_letter(name, at + word.len) && (at == 0 || !is_letter(name, at - 1))))
            return true;
    }
    return false;
}

bool headers_are_secret(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        switch (name.ptr[i] | 0x20) {
        case 'a': /* the letters that the words begin with */
        case 'c':
        case 'f':
        case 'j':
        case 'p':
        case 's':
        case 't':
            if (word_at(name, i))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* What is not plain, one character at a time; returns how many bytes of s it took. */
static size_t put_special(struct buf *out, struct str s)
{
    size_t len = utf8_sequence(s);
    unsigned char c = (unsigned char)s.ptr[0];

    if (c == '"' || c == '\\')
        buf_put(out, (char[]){'\\', (char)c}, 2);
    else if (c == '\t')
        buf_put(out, "\\t", 2);
    else if (len < 2) /* no UTF-8, or a control character */
        buf_put(out, "\xef\xbf\xbd", 3);
    else
        buf_put(out, s.ptr, len);
    return len ? len : 1;
}

static void put_safe(struct buf *out, struct str s)
{
    size_t i = 0;

    while (i < s.len) {
        size_t start = i;

        while (i < s.len && is_plain((unsigned char)s.ptr[i]))
            i++;
        buf_put(out, s.ptr + start, i - start);
        if (i < s.len)
            i += put_special(out, (struct str){s.ptr + i, s.len - i});
    }
}

static void put_name(struct buf *out, struct str name)
{
    size_t start = out->len;

    put_safe(out, name);
    for (size_t i = start; i < out->len; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] + ('a' - 'A'));
}

static bool named_before(const struct request *request, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (str_equal_nocase(request->headers[j].name, request->headers[i].name))
            return true;
    return false;
}

static bool is_redacted(struct str name, const struct verify_scheme *scheme,
                        const struct name_list *redact)
{
    return headers_are_secret(name) || (scheme && verify_shows_secret(scheme, name)) ||
           (redact && names_have(redact, name));
}

static void put_values(const struct request *request, size_t first, struct buf *out)
{
    struct str name = request->headers[first].name;

    for (size_t i = first; i < request->header_count; i++) {
        if (i > first && !str_equal_nocase(request->headers[i].name, name))
            continue;
        if (i > first)
            buf_put(out, ", ", 2);
        put_safe(out, request->headers[i].value);
    }
}

void headers_put_json(const struct request *request, const struct verify_scheme *scheme,
                      const struct name_list *redact, struct buf *out)
{
    buf_put_char(out, '{');
    for (size_t i = 0; i < request->header_count; i++) {
        if (named_before(request, i))
            continue;
        if (out->data[out->len - 1] != '{')
            buf_put_char(out, ',');
        buf_put_char(out, '"');
        put_name(out, request->headers[i].name);
        buf_put(out, "\":\"", 3);
        if (is_redacted(request->headers[i].name, scheme, redact))
            buf_put_str(out, STR("[redacted]"));
        else
            put_values(request, i, out);
        buf_put_char(out, '"');
    }
    buf_put_char(out, '}');
}
