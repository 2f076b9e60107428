/* A strict reader of INI files: bytes in, sections and keys out, one after the other. It judges the
 * form only; what names mean is for the caller (config/sections.h).
 *
 *     # comment            a line whose first character that is no blank is '#' or ';'
 *     [kind]               or [kind name]
 *     key = value          ; comment
 *     key argument = value
 *     key = "value"        ; in quotes a ';' is a character; \" and \\ are the only escapes
 *
 * UTF-8 without control characters; lines end with LF or CRLF; one byte order mark may lead. Blanks
 * (spaces and tabs) around keys and values are not part of them; a comment behind a value begins
 * with a blank and ';'. No line is continued in the next. Names and values have no limit but the
 * line's. Where a line is wrong a mistake is added and the line is skipped. One thread. */
#ifndef CONFIG_INI_H
#define CONFIG_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "config/mistakes.h"

#define INI_FILE_MAX (1024 * 1024) /* bytes of a file */
#define INI_LINE_MAX (64 * 1024)   /* bytes of a line without its end */

enum ini_kind { INI_SECTION, INI_KEY };

struct ini_line {
    enum ini_kind kind;
    int line;            /* 1 is the first */
    struct str name;     /* of the section ("provider") or the key ("on") */
    struct str argument; /* the second word: "stripe", "invoice.*"; ptr NULL: none */
    struct str value;    /* of a key; may be empty */
    bool quoted;         /* the value was written in quotes */
    bool commented;      /* a comment stood behind it */
};

struct ini {
    const char *file;
    char *at, *end;
    int line;
    struct mistakes *mistakes;
};

/* `text` is borrowed and changed in place (escapes are taken out); lines point into it. */
void ini_init(struct ini *ini, const char *file, char *text, size_t len, struct mistakes *mistakes);

/* False at the end. */
bool ini_next(struct ini *ini, struct ini_line *line);

#endif
