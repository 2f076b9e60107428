/* Error records: a kind and a bounded text. No allocation, so that running out of memory can be
 * reported too. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How many bytes a UTF-8 sequence that begins with `lead` has. */
static size_t sequence_len(unsigned char lead)
{
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

/* Cuts a half-written UTF-8 sequence off the end of a text that filled its array. */
static void trim_partial_character(char *text, size_t size, int wanted)
{
    size_t len, lead;

    if (wanted < 0 || (size_t)wanted < size)
        return;
    len = strlen(text);
    for (lead = len; lead > 0 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80; lead--)
        ;
    if (lead > 0 && lead - 1 + sequence_len((unsigned char)text[lead - 1]) > len)
        text[lead - 1] = '\0';
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
    va_list args;
    int wanted;

    if (!err)
        return -1;
    err->kind = kind;
    va_start(args, format);
    wanted = vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    trim_partial_character(err->text, sizeof(err->text), wanted);
    return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
    char prefix[160];
    char text[sizeof(err->text)];
    va_list args;
    int wanted;

    if (!err)
        return -1;
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    memcpy(text, err->text, sizeof(text));
    wanted = snprintf(err->text, sizeof(err->text), "%s: %s", prefix, text);
    trim_partial_character(err->text, sizeof(err->text), wanted);
    return -1;
}

void err_clear(struct err *err)
{
    if (err) {
        err->kind = ERR_NONE;
        err->text[0] = '\0';
    }
}
