/* What the targets that take an input apart into fields share. */
#ifndef FUZZ_FIELDS_H
#define FUZZ_FIELDS_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A copy of exactly its size, so that a read outside shows. */
static inline struct str field_copy(const char *bytes, size_t len)
{
    char *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    if (len)
        memcpy(copy, bytes, len);
    return (struct str){copy, len};
}

/* The input's lines; the last field takes all that is left. Freed by fields_free(). */
static inline void fields_cut(const void *data, size_t size, struct str *fields, size_t count)
{
    const char *bytes = data;

    for (size_t i = 0; i < count; i++) {
        const char *end = i + 1 < count && size ? memchr(bytes, '\n', size) : NULL;
        size_t len = end ? (size_t)(end - bytes) : size;

        fields[i] = field_copy(bytes, len);
        bytes += len + (end ? 1 : 0);
        size -= len + (end ? 1 : 0);
    }
}

static inline void fields_free(struct str *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)fields[i].ptr);
}

#endif
