/* JSON written anew, the way common libraries write it: the same tokens with other blanks between
 * them and other escapes in their strings. Numbers, the order of members and repeated members
 * stay. Pure, any thread. */
#ifndef DIAGNOSE_REJSON_H
#define DIAGNOSE_REJSON_H

#include "base/buf.h"

enum rejson_blanks {
    BLANKS_AS_SENT,
    BLANKS_NONE,     /* JSON.stringify(x) */
    BLANKS_SPACED,   /* json.dumps(x) of Python */
    BLANKS_INDENT_2, /* JSON.stringify(x, null, 2), jq */
    BLANKS_INDENT_4, /* json.dumps(x, indent=4), JSON_PRETTY_PRINT of PHP */
    BLANKS_INDENT_TAB,
};

enum rejson_escapes {
    ESCAPES_AS_SENT,
    ESCAPES_ASCII,   /* é as \u00e9: json.dumps(x) of Python */
    ESCAPES_UTF8,    /* \u00e9 as é */
    ESCAPES_SLASH,   /* / as \/ */
    ESCAPES_NOSLASH, /* \/ as / */
    ESCAPES_PHP,     /* json_encode($x): ASCII and slashes */
    ESCAPES_HTML,    /* < > & as \u003c \u003e \u0026: Go's json.Marshal */
    ESCAPES_NOHTML,  /* and back */
};

/* Appends `text`, which must be JSON. */
void rejson(struct str text, enum rejson_blanks blanks, enum rejson_escapes escapes,
            struct buf *out);

#endif
