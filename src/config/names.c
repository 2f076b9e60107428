/* Headers are named as requests name them, so that a value or a path is not taken for one. */
#include "config/names.h"

#include "config/value.h"
#include "core/request.h"

#define NAMES_MAX 256

int value_names(struct str text, struct arena *arena, struct name_list *names, struct err *err)
{
    size_t parts = text.len ? str_count_parts(text, ',') : 0;
    char shown[VALUE_SHOWN_SIZE];
    struct str *list;

    if (parts > NAMES_MAX)
        return err_set(err, ERR_INPUT, "the list is too long; write at most %d names", NAMES_MAX);
    list = arena_alloc(arena, (parts + 1) * sizeof(*list));
    for (size_t i = 0; i < parts; i++) {
        struct str name = str_take_part(&text, ',');

        value_show(name, shown);
        if (!request_names_header(name))
            return err_set(err, ERR_INPUT,
                           "%s is no name of a header; write names separated by commas, such as "
                           "X-Acme-Key, X-Acme-Session",
                           shown);
        list[i] = arena_copy(arena, name);
    }
    *names = (struct name_list){list, parts};
    return 0;
}

struct name_list names_join(const struct name_list *a, const struct name_list *b,
                            struct arena *arena)
{
    struct str *list;

    if (a->count == 0 || b->count == 0)
        return a->count ? *a : *b;
    list = arena_alloc(arena, (a->count + b->count) * sizeof(*list));
    memcpy(list, a->list, a->count * sizeof(*list));
    memcpy(list + a->count, b->list, b->count * sizeof(*list));
    return (struct name_list){list, a->count + b->count};
}

bool names_have(const struct name_list *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_equal_nocase(names->list[i], name))
            return true;
    return false;
}
