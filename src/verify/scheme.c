/* What kinds of schemes share while they are compiled and explained. */
#include "verify/scheme.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_MAX_LEN 1000 /* of an explanation; what is longer is cut */

void scheme_mistake(struct scheme_mistakes *mistakes, enum verify_field field, size_t index,
                    const char *text)
{
    mistakes->any = true;
    mistakes->report(mistakes->argument, field, index, text);
}

bool scheme_takes_raw(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    if (!spec->secret_encoding.ptr || str_is(spec->secret_encoding, "raw"))
        return true;
    scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0,
                   "has to be raw here: the secret is used as it is written");
    return false;
}

void scheme_check_url(struct scheme_mistakes *mistakes, struct str url)
{
    if (!str_starts(url, STR("https://")) && !str_starts(url, STR("http://")))
        scheme_mistake(mistakes, VERIFY_PUBLIC_URL, 0, "has to begin with https:// or http://");
    else if (memchr(url.ptr, '?', url.len) || memchr(url.ptr, '#', url.len) ||
             memchr(url.ptr, ' ', url.len))
        scheme_mistake(mistakes, VERIFY_PUBLIC_URL, 0,
                       "is written without query; the query that was received is added to it");
}

struct str scheme_url_shown(struct str url)
{
    size_t end = 0, start = 0;

    if (str_starts(url, STR("https://")))
        end = 8;
    else if (str_starts(url, STR("http://")))
        end = 7;
    while (end < url.len && url.ptr[end] != '/') {
        if (url.ptr[end] == '@')
            start = end + 1;
        end++;
    }
    return (struct str){url.ptr + start, url.len - start};
}

void scheme_tell(const struct scheme_teller *teller, const char *step, const char *fmt, ...)
{
    char text[LINE_MAX_LEN];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    teller->tell(teller->argument, step, text);
}

struct str scheme_word(struct str *rest)
{
    struct str word;

    *rest = str_trim(*rest);
    word = (struct str){rest->len ? rest->ptr : NULL, 0};
    while (word.len < rest->len && rest->ptr[word.len] != ' ' && rest->ptr[word.len] != '\t')
        word.len++;
    rest->ptr += word.len;
    rest->len -= word.len;
    return word;
}
