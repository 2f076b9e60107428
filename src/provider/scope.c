/* Lists of pointers, each pointer once. */
#include "provider/scope.h"

static int check(struct str pointer, struct err *err)
{
    struct json_paths *paths = json_paths_new(&pointer, 1, err);

    json_paths_free(paths);
    return paths ? 0 : -1;
}

int scope_add(struct scope *scope, enum scope_level level, struct str pointer, struct arena *arena,
              size_t *number, struct err *err)
{
    struct pointer_list *list = &scope->lists[level];

    if (check(pointer, err) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (str_equal(list->texts[i], pointer)) {
            *number = i;
            return 0;
        }
    }
    if (list->count == JSON_PATHS_MAX)
        return err_set(err, ERR_INPUT,
                       "the sources of a provider name more than %d members of the body",
                       JSON_PATHS_MAX);
    *number = list->count;
    list->texts[list->count++] = arena_copy(arena, pointer);
    return 0;
}

bool scope_cut_at_star(struct str pointer, struct str *before, struct str *behind)
{
    for (size_t i = 0; i + 1 < pointer.len; i++) {
        bool whole = i + 2 == pointer.len || pointer.ptr[i + 2] == '/';

        if (pointer.ptr[i] != '/' || pointer.ptr[i + 1] != '*' || !whole)
            continue;
        *before = (struct str){pointer.ptr, i};
        *behind = (struct str){pointer.ptr + i + 2, pointer.len - i - 2};
        return true;
    }
    return false;
}

int scope_add_absolute(struct scope *scope, struct str pointer, struct arena *arena,
                       enum scope_level *level, size_t *number, struct err *err)
{
    struct str before, behind, more;

    *level = scope->splits ? SCOPE_REQUEST : SCOPE_EVENT;
    if (scope_cut_at_star(pointer, &before, &behind)) {
        if (!scope->outer.ptr || !str_equal(before, scope->outer) ||
            scope_cut_at_star(behind, &before, &more))
            return err_set(err, ERR_INPUT,
                           "\"*\" stands for the element that an event is in, behind the array "
                           "that split = body:/ARRAY/*/... names");
        *level = SCOPE_OUTER;
        pointer = behind;
    }
    return scope_add(scope, *level, pointer, arena, number, err);
}
