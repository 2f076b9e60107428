/* The JSON reader against any bytes: what must hold of itself, and that it agrees with jansson
 * wherever jansson can judge (it refuses 2^63, 1e400, lone surrogates, NUL in names, byte order
 * marks and more than 2048 levels, all of which are JSON). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/json.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define JANSSON_DEPTH 2048

/* Short names, so that mutations hit them; depth, elements and the whole among them. */
static const char *const pointers[] = {"/id", "/a",   "/a/id", "/a/b/c", "/a/0", "/a/0/id",
                                       "/0",  "/1/a", "",      "/",      "/é",   "/id"};
#define POINTERS (sizeof(pointers) / sizeof(pointers[0]))

static struct json_paths *paths(void)
{
    static struct json_paths *compiled;

    if (!compiled) {
        struct str texts[POINTERS];

        for (size_t i = 0; i < POINTERS; i++)
            texts[i] = str_from(pointers[i]);
        compiled = json_paths_new(texts, POINTERS, NULL);
        HOLDS(compiled);
    }
    return compiled;
}

static bool inside(struct str part, struct str whole)
{
    return part.ptr >= whole.ptr && part.len <= whole.len &&
           part.ptr + part.len <= whole.ptr + whole.len;
}

/* A value that was given out is a document of its own, of the same kind. */
static void check_value(struct json_value value, struct str document)
{
    struct json_scan scan;

    if (value.kind == JSON_KIND_ABSENT) {
        HOLDS(!value.text.ptr);
        return;
    }
    HOLDS(inside(value.text, document));
    HOLDS(json_scan(value.text, NULL, JSON_DEPTH_CEILING, &scan, NULL));
    HOLDS(scan.value.kind == value.kind && str_equal(scan.value.text, value.text));
}

static void check_string(struct json_value value, struct arena *arena)
{
    struct json_scan scan;
    struct json_text text;

    if (value.kind != JSON_KIND_STRING)
        return;
    text = json_string_text(value.text, arena);
    HOLDS(json_scan(value.text, NULL, 0, &scan, NULL));
    HOLDS(text.nul == scan.has_nul && text.lone_surrogate == scan.has_lone_surrogate);
    HOLDS(text.lone_surrogate != utf8_valid(text.bytes));
    HOLDS(text.nul == (text.bytes.len > 0 && memchr(text.bytes.ptr, 0, text.bytes.len) != NULL));
}

/* The elements of an array, by the iterator and by a pointer. */
static void check_items(struct json_value array)
{
    struct json_items items;
    struct json_value element, found;
    struct json_scan scan;
    static struct json_paths *second;
    struct str pointer = STR("/1");
    size_t n = 0;

    if (array.kind != JSON_KIND_ARRAY)
        return;
    if (!second)
        second = json_paths_new(&pointer, 1, NULL);
    HOLDS(json_scan(array.text, second, JSON_DEPTH_CEILING, &scan, &found));
    for (items = json_items_begin(array.text); json_items_next(&items, &element); n++) {
        check_value(element, array.text);
        if (n == 1)
            HOLDS(found.kind == element.kind && found.text.ptr == element.text.ptr &&
                  found.text.len == element.text.len);
    }
    if (n < 2)
        HOLDS(found.kind == JSON_KIND_ABSENT);
}

/* The repaired copy needs no repair, and pointers find in it the repaired values. */
static void check_repair(struct str document, const struct json_scan *scan,
                         const struct json_value *values, struct arena *arena)
{
    struct str repaired = json_repair(document, arena);
    struct json_value after[POINTERS];
    struct json_scan again;

    HOLDS(json_scan(repaired, paths(), JSON_DEPTH_CEILING, &again, after));
    HOLDS(!again.needs_repair && !again.had_bom && again.depth == scan->depth);
    if (!scan->needs_repair && !scan->had_bom)
        HOLDS(str_equal(repaired, document));
    for (size_t i = 0; i < POINTERS; i++) {
        if (values[i].kind == JSON_KIND_ABSENT)
            HOLDS(after[i].kind == JSON_KIND_ABSENT);
        else
            HOLDS(str_equal(after[i].text, json_repair(values[i].text, arena)));
    }
}

/* What jansson finds at a pointer without escapes. */
static json_t *jansson_at(json_t *value, const char *pointer)
{
    while (value && *pointer) {
        size_t len = strcspn(++pointer, "/");
        char token[16] = "";

        HOLDS(len < sizeof(token));
        memcpy(token, pointer, len);
        if (json_is_object(value))
            value = json_object_get(value, token);
        else if (json_is_array(value) && len == 1 && token[0] >= '0' && token[0] <= '9')
            value = json_array_get(value, (size_t)(token[0] - '0'));
        else
            value = NULL;
        pointer += len;
    }
    return value;
}

static void compare_value(struct json_value ours, json_t *theirs, struct arena *arena)
{
    char digits[32];

    if (!theirs) {
        HOLDS(ours.kind == JSON_KIND_ABSENT);
        return;
    }
    switch (json_typeof(theirs)) {
    case JSON_OBJECT:
        HOLDS(ours.kind == JSON_KIND_OBJECT);
        break;
    case JSON_ARRAY: {
        struct json_items items;
        struct json_value element;
        size_t n = 0;

        HOLDS(ours.kind == JSON_KIND_ARRAY);
        for (items = json_items_begin(ours.text); json_items_next(&items, &element); n++)
            ;
        HOLDS(n == json_array_size(theirs));
        break;
    }
    case JSON_STRING:
        HOLDS(ours.kind == JSON_KIND_STRING);
        HOLDS(str_equal(json_string_text(ours.text, arena).bytes,
                        (struct str){json_string_value(theirs), json_string_length(theirs)}));
        break;
    case JSON_INTEGER:
        HOLDS(ours.kind == JSON_KIND_NUMBER);
        snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(theirs));
        HOLDS(str_is(ours.text, digits) || str_is(ours.text, "-0"));
        break;
    case JSON_REAL:
        HOLDS(ours.kind == JSON_KIND_NUMBER);
        break;
    case JSON_TRUE:
        HOLDS(ours.kind == JSON_KIND_TRUE);
        break;
    case JSON_FALSE:
        HOLDS(ours.kind == JSON_KIND_FALSE);
        break;
    case JSON_NULL:
        HOLDS(ours.kind == JSON_KIND_NULL);
        break;
    }
}

static void compare(struct str document, bool good, const struct json_scan *scan,
                    const struct json_value *values, struct arena *arena)
{
    json_error_t error;
    json_t *root = json_loadb(document.ptr, document.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    if (root) {
        HOLDS(good && !scan->had_bom && !scan->has_lone_surrogate);
        for (size_t i = 0; i < POINTERS; i++)
            compare_value(values[i], jansson_at(root, pointers[i]), arena);
        json_decref(root);
    } else if (good) {
        enum json_error_code code = json_error_code(&error);

        HOLDS(code == json_error_numeric_overflow || code == json_error_stack_overflow ||
              code == json_error_null_byte_in_key || scan->has_nul || scan->had_bom ||
              scan->has_lone_surrogate);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str document = {(const char *)data, size};
    struct json_value values[POINTERS];
    struct json_scan scan, plain;
    struct arena *arena = arena_new(4096);
    bool good = json_scan(document, paths(), JANSSON_DEPTH, &scan, values);

    /* Pointers change nothing about the judgement. */
    HOLDS(json_scan(document, NULL, JANSSON_DEPTH, &plain, NULL) == good);
    HOLDS(plain.problem == scan.problem && plain.offset == scan.offset);
    HOLDS(good == (scan.problem == JSON_FINE));
    HOLDS(scan.offset <= size);
    for (size_t i = 0; i < POINTERS; i++) {
        HOLDS(good || values[i].kind == JSON_KIND_ABSENT);
        check_value(values[i], document);
        check_string(values[i], arena);
        check_items(values[i]);
    }
    if (good) {
        HOLDS(plain.depth == scan.depth && plain.needs_repair == scan.needs_repair);
        HOLDS(scan.depth == 0 || !json_scan(document, NULL, scan.depth - 1, &plain, NULL));
        check_value(scan.value, document);
        check_repair(document, &scan, values, arena);
    }
    /* jansson 2.14 loses a NUL byte that follows a number or a word, and goes on. */
    if (scan.problem != JSON_TOO_DEEP && (size == 0 || !memchr(data, 0, size)))
        compare(document, good, &scan, values, arena);
    arena_free(arena);
    return 0;
}
