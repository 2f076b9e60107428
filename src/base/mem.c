/* malloc that aborts, and arenas. An arena is a list of blocks; a request larger than a block gets
 * a block of its own. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
    struct block *next;
    size_t size, used;
    max_align_t data[];
};

struct arena {
    struct block *blocks; /* the newest first; only it is filled */
    size_t block_size;
};

static NORETURN void out_of_memory(size_t size)
{
    fprintf(stderr, "inboxd: out of memory (%zu bytes wanted)\n", size);
    abort();
}

void *mem_alloc(size_t size)
{
    void *memory = calloc(1, size ? size : 1);

    if (!memory)
        out_of_memory(size);
    return memory;
}

void *mem_resize(void *old, size_t size)
{
    void *memory = realloc(old, size ? size : 1);

    if (!memory)
        out_of_memory(size);
    return memory;
}

char *mem_copy(struct str s)
{
    char *copy = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return copy;
}

char *mem_printf(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        out_of_memory(0);
    va_end(args);
    return text;
}

void mem_free_pointer(void *pointer)
{
    void *memory;

    memcpy(&memory, pointer, sizeof(memory));
    free(memory);
}

struct arena *arena_new(size_t block_size)
{
    struct arena *arena = mem_alloc(sizeof(*arena));

    arena->block_size = block_size;
    return arena;
}

static void *take(struct arena *arena, size_t size, size_t align)
{
    struct block *block = arena->blocks;
    size_t start = block ? (block->used + align - 1) & ~(align - 1) : 0;

    if (!block || start > block->size || size > block->size - start) {
        size_t wanted = size > arena->block_size ? size : arena->block_size;

        block = malloc(sizeof(*block) + wanted);
        if (!block)
            out_of_memory(wanted);
        block->size = wanted;
        block->used = 0;
        if (size > arena->block_size / 2 && arena->blocks) {
            /* A big piece goes behind the block that is being filled, so that its rest is not lost.
             */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
        start = 0;
    }
    block->used = start + size;
    return (char *)block->data + start;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    void *memory = take(arena, size, _Alignof(max_align_t));

    memset(memory, 0, size);
    return memory;
}

char *arena_bytes(struct arena *arena, size_t size)
{
    return take(arena, size, 1);
}

struct str arena_copy(struct arena *arena, struct str s)
{
    char *copy;

    if (!s.ptr)
        return STR_NONE;
    copy = arena_bytes(arena, s.len + 1);
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return (struct str){copy, s.len};
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        out_of_memory(0);
    text = arena_bytes(arena, (size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    for (struct block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}
