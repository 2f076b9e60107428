/* The list of mistakes: kept sorted by file, line and order of finding while it grows, because
 * readers mostly come from the top of a file down. Owns copies of all texts, so that it outlives
 * what was read. One thread. */
#include "config/mistakes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/conceal.h"

struct mistakes {
    struct arena *arena;
    struct mistake *list;
    size_t count, size, errors;
};

struct mistakes *mistakes_new(void)
{
    struct mistakes *mistakes = mem_alloc(sizeof(*mistakes));

    mistakes->arena = arena_new(4096);
    return mistakes;
}

void mistakes_free(struct mistakes *mistakes)
{
    if (!mistakes)
        return;
    arena_free(mistakes->arena);
    free(mistakes->list);
    free(mistakes);
}

static bool stands_before(const struct mistake *a, const char *file, int line)
{
    int order = strcmp(a->file, file);

    return order ? order < 0 : a->line <= line;
}

/* Most come in order, so the place is looked for from the end. */
static void insert(struct mistakes *mistakes, struct mistake mistake)
{
    size_t at = mistakes->count;

    if (mistakes->count == mistakes->size) {
        mistakes->size = mistakes->size ? mistakes->size * 2 : 16;
        mistakes->list = mem_resize(mistakes->list, mistakes->size * sizeof(*mistakes->list));
    }
    while (at > 0 && !stands_before(&mistakes->list[at - 1], mistake.file, mistake.line))
        at--;
    memmove(&mistakes->list[at + 1], &mistakes->list[at],
            (mistakes->count - at) * sizeof(*mistakes->list));
    mistakes->list[at] = mistake;
    mistakes->count++;
}

PRINTF_LIKE(5, 0)
static void add(struct mistakes *mistakes, const char *file, int line, bool warning,
                const char *fmt, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        abort();
    conceal(text);
    insert(mistakes, (struct mistake){
                         .file = arena_copy(mistakes->arena, str_from(file)).ptr,
                         .line = line,
                         .warning = warning,
                         .text = arena_copy(mistakes->arena, str_from(text)).ptr,
                     });
    if (!warning)
        mistakes->errors++;
    free(text);
}

void mistakes_add(struct mistakes *mistakes, const char *file, int line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(mistakes, file, line, false, fmt, args);
    va_end(args);
}

void mistakes_warn(struct mistakes *mistakes, const char *file, int line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(mistakes, file, line, true, fmt, args);
    va_end(args);
}

size_t mistakes_count(const struct mistakes *mistakes)
{
    return mistakes->count;
}

size_t mistakes_errors(const struct mistakes *mistakes)
{
    return mistakes->errors;
}

const struct mistake *mistakes_get(const struct mistakes *mistakes, size_t i)
{
    return &mistakes->list[i];
}
