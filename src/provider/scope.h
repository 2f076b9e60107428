/* What the JSON pointers of a provider are relative to. A request is one event, or its document
 * holds an array of them, each by itself or inside of the elements of another array; a scan of each
 * part serves all pointers into it. Filled while a section is compiled, then immutable. */
#ifndef PROVIDER_SCOPE_H
#define PROVIDER_SCOPE_H

#include "base/json.h"

enum scope_level {
    SCOPE_EVENT,   /* the event: the document, or an element of it */
    SCOPE_REQUEST, /* the document, where events are elements */
    SCOPE_OUTER,   /* the element of the outer array that the event is in */
    SCOPE_LEVELS
};

struct pointer_list {
    struct str texts[JSON_PATHS_MAX]; /* from the arena of the section */
    size_t count;
};

struct scope {
    struct pointer_list lists[SCOPE_LEVELS];
    bool splits;      /* events are elements */
    struct str outer; /* the outer array's pointer; ptr NULL: there is none */
};

/* Adds a pointer; *number is its place in the list of its level. ERR_INPUT with what is wrong. */
int scope_add(struct scope *scope, enum scope_level level, struct str pointer, struct arena *arena,
              size_t *number, struct err *err) MUST_CHECK;

/* A pointer that begins at the document, wherever the event is. Behind the outer array a "*" stands
 * for the element that the event is in. */
int scope_add_absolute(struct scope *scope, struct str pointer, struct arena *arena,
                       enum scope_level *level, size_t *number, struct err *err) MUST_CHECK;

/* Where the first "*" of a pointer stands, as a whole token: what is before it (without the slash)
 * and behind it. False: nowhere. */
bool scope_cut_at_star(struct str pointer, struct str *before, struct str *behind);

#endif
