/* What a key looks like, by its letters: a guess that errs on the side of hiding. */
#include "config/conceal.h"

#include <stdbool.h>
#include <string.h>

#include "base/attr.h"
#include "base/str.h"

#define KEY_RUN 16 /* letters and digits; words of ours and names of functions are shorter */

static const struct str beginnings[] = {
    {"whsec_", 6}, {"whsk_", 5}, {"whpk_", 5}, {"sk_live_", 8}, {"sk_test_", 8}, {"text:", 5},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_end(char c)
{
    return c == '\0' || c == ' ' || c == '"' || c == '\t' || c == '\n' || c == ';' || c == ',';
}

/* How long the key is that `text` begins with; 0: it does not. `before`: what stands in front. */
static size_t key_length(const char *text, char before)
{
    size_t letters = 0, digits = 0, len;

    if (is_letter(before) || is_digit(before))
        return 0;
    for (len = 0; is_letter(text[len]) || is_digit(text[len]) || text[len] == '+'; len++) {
        letters += is_letter(text[len]);
        digits += is_digit(text[len]);
    }
    /* What follows a slash or a point is the part of a path, an address or a name. */
    if (len < KEY_RUN || letters < 2 || digits == 0 || before == '/' || before == '.')
        return 0;
    while (!is_end(text[len]))
        len++;
    return len;
}

/* How long the credentials are at the start of what follows "://": up to an @ in front of the
 * path. */
static size_t credentials_length(const char *text)
{
    size_t len = 0, end = 0;

    for (; !is_end(text[end]) && text[end] != '/'; end++)
        if (text[end] == '@')
            len = end;
    return len;
}

static size_t beginning_length(const char *text)
{
    if (strncmp(text, "text:SECRET", 11) == 0) /* as our own messages write it */
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (strncmp(text, beginnings[i].ptr, beginnings[i].len) == 0)
            return beginnings[i].len;
    return 0;
}

void conceal(char *text)
{
    char *out = text;
    char before = ' ';

    while (*text) {
        bool url = strncmp(text, "://", 3) == 0;
        size_t kept = url ? 3 : beginning_length(text), hidden = 0;

        if (url)
            hidden = credentials_length(text + kept);
        else if (kept)
            while (!is_end(text[kept + hidden]))
                hidden++;
        else
            hidden = key_length(text, before);
        if (hidden < 3) { /* nothing, or less than what would stand for it */
            before = *text;
            *out++ = *text++;
            continue;
        }
        memmove(out, text, kept);
        memcpy(out + kept, "...", 3);
        out += kept + 3;
        text += kept + hidden;
        before = '.';
    }
    *out = '\0';
}
