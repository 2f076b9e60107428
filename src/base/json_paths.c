/* Compiles JSON pointers (RFC 6901) into the trie that the scanner walks. Once per configuration;
 * everything in it is immutable afterwards. */
#include "base/json_paths.h"

#include <stdlib.h>

#include "base/utf8.h"

struct builder {
    struct json_paths *paths;
    struct json_node *nodes; /* as many as there can be */
    size_t used;
    struct json_node *wanted[JSON_PATHS_MAX]; /* the node of each pointer */
};

/* The number that a token is as an array's index: digits without leading zeros (RFC 6901 section
 * 4). What does not fit is larger than any array. */
static size_t token_index(struct str token)
{
    size_t value = 0;

    if (token.len == 0 || token.len > 18 || (token.len > 1 && token.ptr[0] == '0'))
        return JSON_NO_INDEX;
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] < '0' || token.ptr[i] > '9')
            return JSON_NO_INDEX;
        value = value * 10 + (size_t)(token.ptr[i] - '0');
    }
    return value;
}

/* Takes "~0" and "~1" back. The scan has seen that there are no others. */
static struct str unescape(struct json_paths *paths, struct str token)
{
    char *out = arena_bytes(paths->names, token.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];

        if (c == '~')
            c = token.ptr[++i] == '0' ? '~' : '/';
        out[len++] = c;
    }
    out[len] = '\0';
    return (struct str){out, len};
}

static struct json_node *child_named(struct builder *b, struct json_node *parent, struct str name)
{
    struct json_node **link = &parent->child;
    struct json_node *child;

    for (; *link; link = &(*link)->sibling)
        if (str_equal((*link)->name, name))
            return *link;
    child = &b->nodes[b->used++];
    child->name = name;
    child->index = token_index(name);
    *link = child;
    parent->lengths |= UINT64_C(1) << (name.len < 63 ? name.len : 63);
    if (child->index != JSON_NO_INDEX && child->index >= parent->index_end)
        parent->index_end = child->index + 1;
    return child;
}

static int check(struct str pointer, size_t *tokens, struct err *err)
{
    if (pointer.len > 0 && pointer.ptr[0] != '/')
        return err_set(err, ERR_INPUT, "json pointer \"%.*s\" does not begin with \"/\"",
                       STR_ARG(pointer));
    if (!utf8_valid(pointer))
        return err_set(err, ERR_INPUT, "json pointer is not UTF-8");
    *tokens = 0;
    for (size_t i = 0; i < pointer.len; i++) {
        char next = i + 1 < pointer.len ? pointer.ptr[i + 1] : '\0';

        if (pointer.ptr[i] == '/')
            ++*tokens;
        if (pointer.ptr[i] == '~' && next != '0' && next != '1')
            return err_set(err, ERR_INPUT,
                           "json pointer \"%.*s\" has a \"~\" that is neither \"~0\" (a \"~\") nor "
                           "\"~1\" (a \"/\")",
                           STR_ARG(pointer));
    }
    if (*tokens > JSON_TOKENS_MAX)
        return err_set(err, ERR_INPUT, "json pointer \"%.*s\" has more than %d parts",
                       STR_ARG(pointer), JSON_TOKENS_MAX);
    return 0;
}

static struct json_node *insert(struct builder *b, struct str pointer)
{
    struct json_node *node = b->paths->root;
    size_t at = 0;

    while (at < pointer.len) {
        size_t start = ++at; /* after the slash */

        while (at < pointer.len && pointer.ptr[at] != '/')
            at++;
        node =
            child_named(b, node, unescape(b->paths, (struct str){pointer.ptr + start, at - start}));
    }
    node->wanted = true;
    return node;
}

/* Numbers the slots of `node` and below from `slot` on; returns the next free one. At most
 * JSON_TOKENS_MAX deep. */
static unsigned char number(struct json_node *node, unsigned char slot)
{
    node->slot = slot;
    if (node->wanted)
        slot++;
    for (struct json_node *child = node->child; child; child = child->sibling)
        slot = number(child, slot);
    node->slot_end = slot;
    return slot;
}

struct json_paths *json_paths_new(const struct str *pointers, size_t count, struct err *err)
{
    struct builder b = {0};
    size_t nodes = 1;

    if (count > JSON_PATHS_MAX) {
        err_set(err, ERR_INPUT, "more than %d json pointers", JSON_PATHS_MAX);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        size_t tokens = 0;

        if (check(pointers[i], &tokens, err) < 0)
            return NULL;
        nodes += tokens;
    }
    b.paths = mem_alloc(sizeof(*b.paths));
    b.paths->count = count;
    b.paths->names = arena_new(1024);
    b.nodes = mem_alloc(nodes * sizeof(*b.nodes));
    b.nodes[0].index = JSON_NO_INDEX;
    b.used = 1;
    b.paths->root = b.nodes;
    for (size_t i = 0; i < count; i++)
        b.wanted[i] = insert(&b, pointers[i]);
    number(b.paths->root, 0);
    for (size_t i = 0; i < count; i++)
        b.paths->slots[i] = b.wanted[i]->slot;
    return b.paths;
}

void json_paths_free(struct json_paths *paths)
{
    if (!paths)
        return;
    arena_free(paths->names);
    free(paths->root);
    free(paths);
}

size_t json_paths_count(const struct json_paths *paths)
{
    return paths->count;
}
