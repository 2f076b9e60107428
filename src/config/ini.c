/* The reader of INI files. Pure text work on one buffer that the caller owns; every function takes
 * a whole line and either fills the caller's ini_line or adds exactly one mistake. Values are
 * never named in a mistake: any of them may be a secret. */
#include "config/ini.h"

#include "base/utf8.h"

void ini_init(struct ini *ini, const char *file, char *text, size_t len, struct mistakes *mistakes)
{
    *ini = (struct ini){.file = file, .at = text, .end = text + len, .mistakes = mistakes};
    if (len > INI_FILE_MAX) {
        mistakes_add(mistakes, file, 0,
                     "the file has more than 1M (1048576 bytes), which no configuration needs");
        ini->end = text;
    } else if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        ini->at += 3;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next line without its end; the place moves behind it. */
static struct str take_line(struct ini *ini)
{
    char *begin = ini->at;
    char *feed = memchr(begin, '\n', (size_t)(ini->end - begin));
    char *stop = feed ? feed : ini->end;

    ini->at = feed ? feed + 1 : ini->end;
    ini->line++;
    if (feed && stop > begin && stop[-1] == '\r')
        stop--;
    return (struct str){begin, (size_t)(stop - begin)};
}

/* Whether the line is text that may stand in a configuration at all. */
static bool is_text(const struct ini *ini, struct str line)
{
    if (line.len > INI_LINE_MAX) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the line has %zu bytes; a line has at most 64K (65536)", line.len);
        return false;
    }
    if (!utf8_valid(line)) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the line is not UTF-8; save the file as UTF-8");
        return false;
    }
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            mistakes_add(ini->mistakes, ini->file, ini->line,
                         "the line holds the control character U+%04X; only text and tabs may "
                         "stand here",
                         (unsigned)c);
            return false;
        }
    }
    return true;
}

/* Whether nothing but blanks and a comment is in `rest`. A comment needs a blank before it. */
static bool only_comment(struct str rest, bool *commented)
{
    struct str text = str_trim(rest);

    if (text.len == 0)
        return true;
    *commented = true;
    return text.ptr[0] == ';' && text.ptr > rest.ptr;
}

/* Splits `text` at its first run of blanks. */
static void split_words(struct str text, struct str *first, struct str *second)
{
    size_t len = 0;

    while (len < text.len && !is_blank(text.ptr[len]))
        len++;
    *first = (struct str){text.ptr, len};
    *second = str_trim((struct str){text.ptr + len, text.len - len});
    if (second->len == 0)
        *second = STR_NONE;
}

static bool read_section(const struct ini *ini, struct str text, struct ini_line *line)
{
    const char *close = memchr(text.ptr, ']', text.len);
    struct str inside, rest;

    if (!close) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the section's \"]\" is missing; write [inboxd] or [provider NAME]");
        return false;
    }
    inside = str_trim((struct str){text.ptr + 1, (size_t)(close - text.ptr) - 1});
    rest = (struct str){close + 1, (size_t)(text.ptr + text.len - close) - 1};
    if (!only_comment(rest, &line->commented)) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "only a comment that begins with \" ;\" may follow a section's \"]\"");
        return false;
    }
    if (inside.len == 0) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the section has no name; write [inboxd] or [provider NAME]");
        return false;
    }
    line->kind = INI_SECTION;
    split_words(inside, &line->name, &line->argument);
    return true;
}

/* A value in quotes: takes the escapes out, in place. */
static bool read_quoted(const struct ini *ini, struct str text, struct ini_line *line)
{
    char *from = (char *)text.ptr + 1, *end = (char *)text.ptr + text.len;
    char *to = from;

    line->value.ptr = from;
    for (; from < end && *from != '"'; from++) {
        if (*from == '\\') {
            from++;
            if (from == end || (*from != '"' && *from != '\\')) {
                mistakes_add(ini->mistakes, ini->file, ini->line,
                             "in a quoted value only \\\" and \\\\ may follow a backslash; write "
                             "\\\\ for a backslash");
                return false;
            }
        }
        *to++ = *from;
    }
    if (from == end) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the value's closing quote is missing; a value that begins with \" ends with "
                     "\" on the same line");
        return false;
    }
    line->value.len = (size_t)(to - line->value.ptr);
    line->quoted = true;
    from++;
    if (!only_comment((struct str){from, (size_t)(end - from)}, &line->commented)) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "only a comment that begins with \" ;\" may follow a quoted value; write \\\" "
                     "for a quote inside it");
        return false;
    }
    return true;
}

/* A value without quotes: up to a blank and ';'. `text` is trimmed and has a '=' or a blank before
 * it. */
static bool read_plain(const struct ini *ini, struct str text, struct ini_line *line)
{
    size_t len = text.len;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ';' && is_blank(*(text.ptr + i - 1))) {
            line->commented = true;
            len = i;
            break;
        }
    }
    line->value = str_trim((struct str){text.ptr, len});
    if (line->value.len > 0 && line->value.ptr[line->value.len - 1] == '\\') {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "a value is not continued in the next line; write it on one line, and in "
                     "quotes where it really ends with a backslash");
        return false;
    }
    return true;
}

static bool read_key(const struct ini *ini, struct str text, struct ini_line *line)
{
    const char *equals = memchr(text.ptr, '=', text.len);
    struct str key, value;

    if (!equals) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "neither a section nor a setting; write [SECTION], KEY = VALUE or # COMMENT");
        return false;
    }
    key = str_trim((struct str){text.ptr, (size_t)(equals - text.ptr)});
    value = str_trim((struct str){equals + 1, (size_t)(text.ptr + text.len - equals) - 1});
    if (key.len == 0) {
        mistakes_add(ini->mistakes, ini->file, ini->line,
                     "the key before \"=\" is missing; write KEY = VALUE");
        return false;
    }
    line->kind = INI_KEY;
    split_words(key, &line->name, &line->argument);
    if (value.len > 0 && value.ptr[0] == '"')
        return read_quoted(ini, value, line);
    return read_plain(ini, value, line);
}

bool ini_next(struct ini *ini, struct ini_line *line)
{
    while (ini->at < ini->end) {
        struct str raw = take_line(ini);
        struct str text = str_trim(raw);
        bool good;

        *line = (struct ini_line){.line = ini->line};
        if (!is_text(ini, raw) || text.len == 0 || text.ptr[0] == '#' || text.ptr[0] == ';')
            continue;
        if (text.ptr != raw.ptr) {
            mistakes_add(ini->mistakes, ini->file, ini->line,
                         "the line begins with a blank, and no line continues the one before it; "
                         "take the blank away, or write the value on one line");
            continue;
        }
        good = text.ptr[0] == '[' ? read_section(ini, text, line) : read_key(ini, text, line);
        if (good)
            return true;
    }
    return false;
}
