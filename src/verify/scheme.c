/* What kinds of schemes share while they are compiled. */
#include "verify/scheme.h"

void scheme_mistake(struct scheme_mistakes *mistakes, enum verify_field field, size_t index,
                    const char *text)
{
    mistakes->any = true;
    mistakes->report(mistakes->argument, field, index, text);
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
