/* One or two levels of arrays, each element scanned by itself. */
#include "provider/split.h"

#define RIGHT "write body:/POINTER of the array that holds the events"

/* ---- compiling ---- */

static int add_array(struct str pointer, struct split *split, struct scope *scope,
                     struct arena *arena, struct err *err)
{
    struct str before, behind, more;
    bool nested = scope_cut_at_star(pointer, &before, &behind);

    if (split->count == SPLIT_ARRAYS_MAX)
        return err_set(err, ERR_INPUT, "names more than %d arrays", SPLIT_ARRAYS_MAX);
    if (nested && (behind.len == 0 || scope_cut_at_star(behind, &more, &more)))
        return err_set(
            err, ERR_INPUT,
            "\"*\" stands once, between an outer array and the one that holds the events");
    if (split->count > 0 &&
        (nested != split->nested || (nested && !str_equal(before, scope->outer))))
        return err_set(err, ERR_INPUT, "its arrays are not behind the same \"*\"");
    if (nested && split->count == 0) {
        split->nested = true;
        scope->outer = arena_copy(arena, before);
        if (scope_add(scope, SCOPE_REQUEST, before, arena, &split->outer, err) < 0)
            return -1;
    }
    return scope_add(scope, nested ? SCOPE_OUTER : SCOPE_REQUEST, nested ? behind : pointer, arena,
                     &split->arrays[split->count++], err);
}

int split_parse(struct str text, struct split *split, struct scope *scope, struct arena *arena,
                struct err *err)
{
    const struct str mark = STR("body:");
    bool more = true;

    *split = (struct split){0};
    scope->splits = true;
    while (more) {
        const char *bar = text.len ? memchr(text.ptr, '|', text.len) : NULL;
        size_t len = bar ? (size_t)(bar - text.ptr) : text.len;
        struct str one = str_trim((struct str){text.ptr, len});

        if (!str_starts(one, mark) || memchr(one.ptr, ' ', one.len))
            return err_set(err, ERR_INPUT, "\"%.*s\" names no array; " RIGHT, STR_ARG(one));
        one = (struct str){one.ptr + mark.len, one.len - mark.len};
        if (add_array(one, split, scope, arena, err) < 0)
            return -1;
        more = bar;
        len += bar ? 1 : 0;
        text = (struct str){text.ptr + len, text.len - len};
    }
    return 0;
}

/* ---- reading ---- */

/* What the visits of one document share. */
struct visits {
    const struct split *split;
    struct json_paths *const *paths;
    const struct json_value *values[SCOPE_LEVELS];
    split_visit *visit;
    void *argument;
};

/* Scans an element, which is JSON, for the pointers of its level. */
static void scan(struct visits *visits, enum scope_level level, struct str element,
                 struct json_value *values)
{
    struct json_scan scan;

    visits->values[level] = NULL;
    if (visits->paths[level] &&
        json_scan(element, visits->paths[level], JSON_DEPTH_CEILING, &scan, values))
        visits->values[level] = values;
}

static enum refusal visit_array(struct visits *visits, struct str array)
{
    struct json_value values[JSON_PATHS_MAX], element;
    struct json_items items = json_items_begin(array);
    enum refusal refusal = REFUSAL_NONE;

    while (refusal == REFUSAL_NONE && json_items_next(&items, &element)) {
        scan(visits, SCOPE_EVENT, element.text, values);
        refusal = visits->visit(visits->argument, element.text, visits->values);
    }
    visits->values[SCOPE_EVENT] = NULL; /* it was ours */
    return refusal;
}

/* The first of the arrays that is there. */
static enum refusal visit_arrays(struct visits *visits, const struct json_value *values)
{
    for (size_t i = 0; values && i < visits->split->count; i++) {
        const struct json_value *array = &values[visits->split->arrays[i]];

        if (array->kind == JSON_KIND_ARRAY)
            return visit_array(visits, array->text);
    }
    return REFUSAL_MISSING_EVENTS;
}

static enum refusal visit_nested(struct visits *visits, const struct json_value *outer)
{
    struct json_value values[JSON_PATHS_MAX], element;
    enum refusal refusal = REFUSAL_NONE;
    struct json_items items;

    if (outer->kind != JSON_KIND_ARRAY)
        return REFUSAL_MISSING_EVENTS;
    items = json_items_begin(outer->text);
    while (refusal == REFUSAL_NONE && json_items_next(&items, &element)) {
        scan(visits, SCOPE_OUTER, element.text, values);
        refusal = visit_arrays(visits, visits->values[SCOPE_OUTER]);
    }
    visits->values[SCOPE_OUTER] = NULL; /* it was ours */
    return refusal;
}

enum refusal split_each(const struct split *split, struct json_paths *const paths[SCOPE_LEVELS],
                        const struct json_value *request_values, split_visit *visit, void *argument)
{
    struct visits visits = {.split = split, .paths = paths, .visit = visit, .argument = argument};

    visits.values[SCOPE_REQUEST] = request_values;
    return split->nested ? visit_nested(&visits, &request_values[split->outer])
                         : visit_arrays(&visits, request_values);
}
