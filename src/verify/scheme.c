/* What kinds of schemes share while they are compiled. */
#include "verify/scheme.h"

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
