/* The scanner: one pass over the bytes, no recursion, no allocation. What is open is a stack of
 * bits (object or array); the outermost `reached` of the open containers are those that pointers
 * reach into, each with its node of the trie. Invariants: reached <= depth; `target` is the node of
 * the value that comes next, and is NULL unless reached == depth; a slot holds what the last
 * complete value at its place was, and is wiped when a member of the same name begins. */
#include "base/json.h"

#include "base/json_lex.h"
#include "base/json_paths.h"
#include "base/utf8.h"

typedef const unsigned char *place;

struct level {
    const struct json_node *node;
    place start;  /* of the container */
    size_t index; /* of the element that comes next */
};

struct reader {
    place begin, end;
    struct json_scan *scan;
    const struct json_node *target;
    size_t depth, max_depth, reached;
    bool in_object; /* the innermost container is one */
    struct json_value slots[JSON_PATHS_MAX];
    struct level levels[JSON_TOKENS_MAX + 1];
    uint64_t objects[JSON_DEPTH_CEILING / 64]; /* bit d: container d is an object */
};

static place fail(struct reader *r, enum json_problem problem, place at)
{
    r->scan->problem = at == r->end ? JSON_CUT : problem;
    r->scan->offset = (size_t)(at - r->begin);
    return NULL;
}

static void record(struct reader *r, const struct json_node *node, enum json_kind kind, place start,
                   place after)
{
    if (node->wanted)
        r->slots[node->slot] =
            (struct json_value){kind, {(const char *)start, (size_t)(after - start)}};
}

/* Strings. */

/* p is at a backslash. */
static place read_escape(struct reader *r, place p)
{
    uint32_t character;
    place after = json_read_escape(p, r->end, &character);

    if (!after)
        return fail(r, JSON_BAD_ESCAPE, p);
    if (character == 0)
        r->scan->has_nul = true;
    else if (json_is_surrogate(character))
        r->scan->has_lone_surrogate = true;
    return after;
}

static inline bool continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* p is at a byte from 0x80 up. Most sequences of two and three bytes are settled right here: a
 * quarter of the time for text that is not ASCII. */
static place read_beyond_ascii(struct reader *r, place p)
{
    do {
        size_t len;

        if (*p >= 0xc2 && *p <= 0xdf && r->end - p >= 2 && continues(p[1]))
            len = 2;
        else if (*p >= 0xe1 && *p <= 0xec && r->end - p >= 3 && continues(p[1]) && continues(p[2]))
            len = 3;
        else
            len = utf8_sequence((struct str){(const char *)p, (size_t)(r->end - p)});
        if (len == 0)
            return fail(r, JSON_BAD_UTF8, p);
        p += len;
    } while (p < r->end && *p >= 0x80);
    return p;
}

/* p is at the opening quote; returns the place after the closing one. */
static inline place read_string(struct reader *r, place p, bool *escaped)
{
    *escaped = false;
    p++;
    for (;;) {
        p = json_skip_plain(p, r->end);
        if (p == r->end)
            return fail(r, JSON_CUT, p);
        if (*p == '"')
            return p + 1;
        if (*p == '\\') {
            *escaped = true;
            p = read_escape(r, p);
        } else if (*p >= 0x80) {
            p = read_beyond_ascii(r, p);
        } else {
            return fail(r, JSON_BAD_CONTROL, p);
        }
        if (!p)
            return NULL;
    }
}

/* Numbers and words. */

static place read_exponent(struct reader *r, place start, place p)
{
    place digits;

    p++;
    if (p < r->end && (*p == '+' || *p == '-'))
        p++;
    digits = p;
    p = json_skip_digits(p, r->end);
    if (p == digits)
        return fail(r, JSON_BAD_NUMBER, p);
    /* Short ones fit in any case: under 6000 digits, moved by under 10000. */
    if ((p - digits > 4 || p - start > 6000) &&
        !json_number_fits((struct str){(const char *)start, (size_t)(p - start)}))
        r->scan->has_big_number = true;
    return p;
}

static inline place read_number(struct reader *r, place p)
{
    place start = p, digits;

    if (*p == '-')
        p++;
    digits = p;
    p = json_skip_digits(p, r->end);
    if (p == digits || (*digits == '0' && p - digits > 1))
        return fail(r, JSON_BAD_NUMBER, p == digits ? p : digits + 1);
    if (p < r->end && *p == '.') {
        digits = ++p;
        p = json_skip_digits(p, r->end);
        if (p == digits)
            return fail(r, JSON_BAD_NUMBER, p);
    }
    if (p < r->end && (*p | 0x20) == 'e')
        return read_exponent(r, start, p);
    if (p - start > 16383 &&
        !json_number_fits((struct str){(const char *)start, (size_t)(p - start)}))
        r->scan->has_big_number = true;
    return p;
}

static place read_word(struct reader *r, place p, const char *word)
{
    for (; *word; word++, p++)
        if (p == r->end || *p != (unsigned char)*word)
            return fail(r, JSON_UNEXPECTED, p);
    return p;
}

/* p is at the first byte of something that is no container. */
static inline place read_scalar(struct reader *r, place p)
{
    const struct json_node *target = r->target;
    enum json_kind kind;
    place start = p;
    bool escaped;

    if (*p == '"') {
        kind = JSON_KIND_STRING;
        p = read_string(r, p, &escaped);
    } else if (*p == '-' || (json_class[*p] & JSON_C_DIGIT)) {
        kind = JSON_KIND_NUMBER;
        p = read_number(r, p);
    } else if (*p == 't') {
        kind = JSON_KIND_TRUE;
        p = read_word(r, p, "true");
    } else if (*p == 'f') {
        kind = JSON_KIND_FALSE;
        p = read_word(r, p, "false");
    } else if (*p == 'n') {
        kind = JSON_KIND_NULL;
        p = read_word(r, p, "null");
    } else {
        return fail(r, JSON_UNEXPECTED, p);
    }
    if (p && target)
        record(r, target, kind, start, p);
    return p;
}

/* Pointers. */

/* The node below the innermost container for a member named `raw` (as it stands between the
 * quotes); forgets what an earlier member of that name left. */
static const struct json_node *find_member(struct reader *r, struct str raw, bool escaped)
{
    const struct json_node *parent = r->levels[r->reached - 1].node, *child;

    if (!escaped && !(parent->lengths >> (raw.len < 63 ? raw.len : 63) & 1))
        return NULL;
    for (child = parent->child; child; child = child->sibling)
        if (escaped ? json_name_is(raw, child->name) : str_equal(raw, child->name))
            break;
    if (child)
        memset(r->slots + child->slot, 0,
               sizeof(r->slots[0]) * (size_t)(child->slot_end - child->slot));
    return child;
}

static const struct json_node *find_element(struct reader *r)
{
    struct level *level = &r->levels[r->reached - 1];
    size_t index = level->index++;
    const struct json_node *child;

    if (index >= level->node->index_end)
        return NULL;
    for (child = level->node->child; child; child = child->sibling)
        if (child->index == index)
            break;
    return child;
}

/* Containers. */

/* p is at '{' or '['; returns the first byte inside that is not a blank. */
static inline place enter(struct reader *r, place p)
{
    uint64_t bit = UINT64_C(1) << (r->depth % 64);

    if (r->depth == r->max_depth)
        return fail(r, JSON_TOO_DEEP, p);
    r->in_object = *p == '{';
    if (r->in_object)
        r->objects[r->depth / 64] |= bit;
    else
        r->objects[r->depth / 64] &= ~bit;
    r->depth++;
    if (r->depth > r->scan->depth)
        r->scan->depth = r->depth;
    if (r->target)
        r->levels[r->reached++] = (struct level){r->target, p, 0};
    return json_skip_blanks(p + 1, r->end);
}

/* p is at '}' or ']'; returns the place after it. */
static inline place leave(struct reader *r, place p)
{
    if (r->reached == r->depth) {
        const struct level *level = &r->levels[--r->reached];

        record(r, level->node, r->in_object ? JSON_KIND_OBJECT : JSON_KIND_ARRAY, level->start,
               p + 1);
    }
    r->depth--;
    if (r->depth > 0)
        r->in_object = r->objects[(r->depth - 1) / 64] >> ((r->depth - 1) % 64) & 1;
    return p + 1;
}

/* p is where the next member or element of the innermost container begins; returns the first byte
 * of its value, and sets `target`. */
static inline place begin_value(struct reader *r, place p)
{
    bool reached = r->reached == r->depth;

    if (r->in_object) {
        bool escaped;
        place name = p + 1;

        if (p == r->end || *p != '"')
            return fail(r, JSON_UNEXPECTED, p);
        p = read_string(r, p, &escaped);
        if (!p)
            return NULL;
        r->target = NULL;
        if (reached)
            r->target =
                find_member(r, (struct str){(const char *)name, (size_t)(p - 1 - name)}, escaped);
        p = json_skip_blanks(p, r->end);
        if (p == r->end || *p != ':')
            return fail(r, JSON_UNEXPECTED, p);
        p = json_skip_blanks(p + 1, r->end);
    } else {
        r->target = reached ? find_element(r) : NULL;
    }
    return p == r->end ? fail(r, JSON_CUT, p) : p;
}

/* p is after a value; closes what ends there. Returns the first byte of the next value; NULL: a
 * problem, or the document is complete up to *complete. */
static inline place end_value(struct reader *r, place p, place *complete)
{
    while (r->depth > 0) {
        p = json_skip_blanks(p, r->end);
        if (p == r->end)
            return fail(r, JSON_CUT, p);
        if (*p == ',')
            return begin_value(r, json_skip_blanks(p + 1, r->end));
        if (*p != (r->in_object ? '}' : ']'))
            return fail(r, JSON_UNEXPECTED, p);
        p = leave(r, p);
    }
    *complete = p;
    return NULL;
}

/* Reads the value that begins at p, to the end of the document; returns the place after the value,
 * NULL with a problem. */
static place read_document(struct reader *r, place p)
{
    place complete = NULL, trailing;

    while (p) {
        if (*p == '{' || *p == '[') {
            p = enter(r, p);
            if (!p)
                return NULL;
            if (p == r->end || *p != (r->in_object ? '}' : ']')) {
                p = begin_value(r, p);
                continue;
            }
        } else {
            p = read_scalar(r, p);
            if (!p)
                return NULL;
        }
        p = end_value(r, p, &complete);
    }
    if (!complete)
        return NULL;
    trailing = json_skip_blanks(complete, r->end);
    return trailing == r->end ? complete : fail(r, JSON_TRAILING, trailing);
}

/* Copies the slots out in the order of the pointers. */
static void give_values(const struct reader *r, const struct json_paths *paths,
                        struct json_value *values)
{
    for (size_t i = 0; i < paths->count; i++)
        values[i] = r->slots[paths->slots[i]];
}

bool json_scan(struct str document, const struct json_paths *paths, size_t max_depth,
               struct json_scan *scan, struct json_value *values)
{
    struct reader r;
    place start, after = NULL;

    *scan = (struct json_scan){0};
    r.begin = (place)(document.ptr ? document.ptr : "");
    r.end = r.begin + document.len;
    r.scan = scan;
    r.target = paths ? paths->root : NULL;
    r.depth = r.reached = 0;
    memset(r.objects, 0, sizeof(r.objects));
    r.max_depth = max_depth < JSON_DEPTH_CEILING ? max_depth : JSON_DEPTH_CEILING;
    if (paths)
        memset(r.slots, 0, sizeof(r.slots[0]) * paths->count);

    start = r.begin;
    if (document.len >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        scan->had_bom = true;
        start += 3;
    }
    start = json_skip_blanks(start, r.end);
    if (start == r.end) {
        scan->problem = JSON_EMPTY;
        scan->offset = document.len;
    } else {
        after = read_document(&r, start);
    }
    if (!after) {
        *scan = (struct json_scan){.problem = scan->problem, .offset = scan->offset};
        if (paths)
            memset(values, 0, sizeof(values[0]) * paths->count);
        return false;
    }
    scan->value =
        (struct json_value){json_kind_of(*start), {(const char *)start, (size_t)(after - start)}};
    scan->needs_repair = scan->has_nul || scan->has_lone_surrogate || scan->has_big_number;
    if (paths)
        give_values(&r, paths, values);
    return true;
}

const char *json_problem_text(enum json_problem problem)
{
    switch (problem) {
    case JSON_FINE:
        return "no problem";
    case JSON_EMPTY:
        return "empty";
    case JSON_CUT:
        return "ends in the middle";
    case JSON_UNEXPECTED:
        return "unexpected byte";
    case JSON_BAD_UTF8:
        return "not UTF-8";
    case JSON_BAD_CONTROL:
        return "control character in a string";
    case JSON_BAD_ESCAPE:
        return "bad escape in a string";
    case JSON_BAD_NUMBER:
        return "bad number";
    case JSON_TRAILING:
        return "something after the value";
    case JSON_TOO_DEEP:
        return "nested too deep";
    }
    return "unknown problem";
}
