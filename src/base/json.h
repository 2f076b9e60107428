/* JSON from untrusted bytes: one strict pass that says whether the document is JSON, what jsonb
 * cannot hold of it, and where the values are that a set of JSON pointers names.
 *
 * Grammar: RFC 8259 exactly, in UTF-8 as RFC 3629 has it. Any value may stand alone. One leading
 * byte order mark is skipped. Bytes may hold anything (NULs too) and need no NUL at the end.
 * Numbers are never converted: their text is what counts. No recursion; no memory but the caller's
 * struct and a fixed stack frame of about 2 KB, whatever the document holds.
 *
 * Pure functions, any thread. Names: jansson owns JSON_STRING and the like, hence JSON_KIND_*. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define JSON_DEPTH_DEFAULT 1000 /* arrays and objects inside each other; `[[1]]` is 2 deep */
#define JSON_DEPTH_CEILING 4096 /* no scan goes deeper, whatever it is asked */
#define JSON_PATHS_MAX 16       /* pointers in one set */
#define JSON_TOKENS_MAX 32      /* reference tokens in one pointer */

/* Bytes of a document that always fits into jsonb: the densest array, 2^24 elements of "1", is as
 * long. The scan reads longer ones all the same; who sets limits for bodies stays below. */
#define JSON_FITS_JSONB_MAX (32 * 1024 * 1024)

enum json_kind {
    JSON_KIND_ABSENT = 0, /* the document has nothing there */
    JSON_KIND_STRING,
    JSON_KIND_NUMBER,
    JSON_KIND_TRUE,
    JSON_KIND_FALSE,
    JSON_KIND_NULL,
    JSON_KIND_OBJECT,
    JSON_KIND_ARRAY,
};

/* A value as it stands in the document: a string with its quotes and escapes, a number with its
 * digits as sent, an array with its brackets. Borrows the document. Absent: text.ptr is NULL. */
struct json_value {
    enum json_kind kind;
    struct str text;
};

enum json_problem {
    JSON_FINE = 0,
    JSON_EMPTY,       /* no value at all: no bytes, only blanks, only a byte order mark */
    JSON_CUT,         /* ends in the middle */
    JSON_UNEXPECTED,  /* a byte that the grammar has no place for */
    JSON_BAD_UTF8,    /* overlong, surrogate, above U+10FFFF, or no UTF-8 at all */
    JSON_BAD_CONTROL, /* U+0000 to U+001F unescaped in a string */
    JSON_BAD_ESCAPE,
    JSON_BAD_NUMBER,
    JSON_TRAILING, /* something follows the value */
    JSON_TOO_DEEP, /* may well be JSON, but deeper than allowed */
};

/* "unexpected byte" and so on, for people. Never NULL. */
const char *json_problem_text(enum json_problem problem);

/* A set of JSON pointers (RFC 6901), compiled once into an immutable trie, so that a document
 * without them is scanned as fast as without pointers. May be shared between threads. */
struct json_paths;

/* `pointers` as written, "" (the whole document), "/data/object/id", "/items/0/id"; "~0" is '~'
 * and "~1" is '/'. A token of digits names an array's element or an object's member, whatever
 * is there; "-" only a member. The same pointer may come twice. NULL: ERR_INPUT, not a pointer or
 * more than the limits above. `pointers` is not kept. */
struct json_paths *json_paths_new(const struct str *pointers, size_t count, struct err *err);
void json_paths_free(struct json_paths *paths); /* takes NULL */
size_t json_paths_count(const struct json_paths *paths);

struct json_scan {
    enum json_problem problem;
    size_t offset; /* with a problem: of the byte where it shows; for JSON_CUT the length */

    /* The rest only without a problem. */
    struct json_value value; /* the document without byte order mark and blanks around it */
    size_t depth;            /* deepest nesting met */
    bool had_bom;            /* jsonb refuses the bytes as sent; value.text is what it takes */
    bool needs_repair;       /* one of the next three: jsonb takes only what json_repair() makes */
    bool has_nul;            /* an escaped U+0000, in a name or a value */
    bool has_lone_surrogate; /* an escaped half of a surrogate pair, likewise */
    bool has_big_number;     /* a number that PostgreSQL's numeric cannot hold */
};

/* Reads `document` once. True: it is JSON, at most `max_depth` deep (JSON_DEPTH_CEILING at most).
 * `values` gets one entry for each pointer, in the order of json_paths_new(); both may be NULL.
 * False: only scan->problem and offset are set, every value is absent.
 *
 * Of duplicate names the last counts at every level, as in jsonb: a later member takes all that
 * pointers found inside an earlier one with it. Names are compared unescaped, and as json_repair()
 * writes them, so that a pointer and the same path into the stored jsonb never disagree. */
bool json_scan(struct str document, const struct json_paths *paths, size_t max_depth,
               struct json_scan *scan, struct json_value *values);

/* The copy of a scanned document that jsonb accepts: escaped NULs and lone surrogates become
 * U+FFFD, numbers out of numeric's range become strings of their text, a byte order mark goes;
 * every other byte stays. Two names that differ only in such characters become the same, and then
 * the last counts. Lives in `arena`. Also fits for a slice that json_scan() gave out. */
struct str json_repair(struct str document, struct arena *arena);

/* Whether numeric (PostgreSQL 15: 131072 digits before the point, 16383 after it, exponents under
 * 2^30 - 1) holds the number. `text` is a JSON number. */
bool json_number_fits(struct str text);

/* The content of a string. */
struct json_text {
    struct str bytes;    /* UTF-8, where neither of the next two */
    bool nul;            /* bytes hold a NUL: no PostgreSQL text */
    bool lone_surrogate; /* written as if UTF-8 had surrogates (three bytes, ED A0 80 to ED BF BF),
                            so that distinct strings stay distinct bytes */
};

/* Takes a string's slice, with its quotes. Borrows it where nothing is escaped, else the bytes
 * live in `arena`. */
struct json_text json_string_text(struct str string, struct arena *arena);

/* The elements of an array, one after the other, without memory of its own:
 *
 *     struct json_items items = json_items_begin(values[0].text);
 *     while (json_items_next(&items, &element)) ...
 *
 * For slices of kind JSON_KIND_ARRAY that json_scan() gave out. */
struct json_items {
    const char *next, *end;
};

struct json_items json_items_begin(struct str array);
bool json_items_next(struct json_items *items, struct json_value *element);
/* The same for the members of an object; a name is a string with its quotes. */
bool json_members_next(struct json_items *items, struct json_value *name, struct json_value *value);

#endif
