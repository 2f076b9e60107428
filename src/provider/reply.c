/* Three parts, of which the second is known by its form. */
#include "provider/reply.h"

#include <stdbool.h>

#define RIGHT                                                                                      \
    "write STATUS [CONTENT-TYPE] [BODY], such as 204, 200 [accepted] or 200 text/xml <Response/>"

/* The next word; `rest` moves behind it and its blanks. */
static struct str take_word(struct str *rest)
{
    struct str word = {rest->ptr, 0};

    while (word.len < rest->len && rest->ptr[word.len] != ' ' && rest->ptr[word.len] != '\t')
        word.len++;
    *rest = str_trim((struct str){rest->ptr + word.len, rest->len - word.len});
    return word;
}

static bool is_status(struct str word)
{
    return word.len == 3 && word.ptr[0] == '2' && word.ptr[1] >= '0' && word.ptr[1] <= '9' &&
           word.ptr[2] >= '0' && word.ptr[2] <= '9';
}

/* RFC 9110 section 5.6.2. */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!plain && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.len > 0;
}

/* TYPE/SUBTYPE, with parameters behind a semicolon. */
static bool is_content_type(struct str word)
{
    const char *semicolon = word.len ? memchr(word.ptr, ';', word.len) : NULL;
    size_t len = semicolon ? (size_t)(semicolon - word.ptr) : word.len;
    const char *slash = len ? memchr(word.ptr, '/', len) : NULL;

    if (!slash)
        return false;
    return is_token((struct str){word.ptr, (size_t)(slash - word.ptr)}) &&
           is_token((struct str){slash + 1, len - (size_t)(slash - word.ptr) - 1});
}

int reply_parse(struct str text, struct reply *reply, struct err *err)
{
    struct str rest = text, word = take_word(&rest);
    struct reply parsed = {.body = rest};

    if (!is_status(word))
        return err_set(err, ERR_INPUT, "\"%.*s\" is no status from 200 to 299; " RIGHT,
                       STR_ARG(word));
    parsed.status = (unsigned)(200 + (word.ptr[1] - '0') * 10 + (word.ptr[2] - '0'));
    word = take_word(&rest);
    if (is_content_type(word)) {
        parsed.content_type = word;
        parsed.body = rest;
    }
    if ((parsed.status == 204 || parsed.status == 205) && parsed.body.len > 0)
        return err_set(err, ERR_INPUT, "an answer with the status %u has no body; " RIGHT,
                       parsed.status);
    *reply = parsed;
    return 0;
}
