/* The trie of a set of JSON pointers as the scanner walks it. Only for json.c and json_paths.c. */
#ifndef BASE_JSON_PATHS_H
#define BASE_JSON_PATHS_H

#include <stdint.h>

#include "base/json.h"

#define JSON_NO_INDEX SIZE_MAX

/* A place in documents. Slots are numbered parents first, so that all slots of a node and of what
 * is below it are [slot, slot_end), the node's own the first of them. */
struct json_node {
    struct str name;           /* unescaped */
    size_t index;              /* where the name is also an array's index, or JSON_NO_INDEX */
    struct json_node *child;   /* the first */
    struct json_node *sibling; /* the next child of the same parent */
    uint64_t lengths;          /* of the children's names: bit min(length, 63) */
    size_t index_end;          /* above every child's index; 0: none has one */
    unsigned char slot, slot_end;
    bool wanted; /* has a slot of its own */
};

struct json_paths {
    size_t count;
    unsigned char slots[JSON_PATHS_MAX]; /* of each pointer */
    struct json_node *root;              /* the first of all nodes */
    struct arena *names;
};

#endif
