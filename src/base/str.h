/* A borrowed run of bytes: pointer and length, not NUL-terminated. ptr NULL means "absent", which
 * is not the same as empty. Who owns the bytes is said where the str is handed over. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){("" literal), sizeof(literal) - 1})
#define STR_NONE ((struct str){NULL, 0})
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_equal(a, str_from(text));
}

static inline bool str_starts(struct str a, struct str prefix)
{
    return a.len >= prefix.len && memcmp(a.ptr, prefix.ptr, prefix.len) == 0;
}

/* Orders by bytes, as PostgreSQL's collation "C" does. */
static inline int str_compare(struct str a, struct str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.ptr, b.ptr, shorter) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Compares ASCII letters without case, as header names are (RFC 9110 section 5.1). */
bool str_equal_nocase(struct str a, struct str b);

/* Takes blanks (SP, HTAB) off both ends (RFC 9110 "OWS"). */
struct str str_trim(struct str s);

/* What is before the next `separator`, or the end, trimmed; `rest` moves behind it. */
struct str str_take_part(struct str *rest, char separator);
/* How many calls of that a text is good for; 1 for an empty one. */
size_t str_count_parts(struct str s, char separator);

#endif
