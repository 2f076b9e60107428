/* Memory: what we size ourselves aborts when there is none (everything that matters is in
 * PostgreSQL); what a peer sizes goes through buf.h, which has a cap and may fail. An arena holds
 * what lives exactly as long as one request or one snapshot. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"
#include "base/str.h"

/* Never return NULL. Freed with free(). */
void *mem_alloc(size_t size); /* zeroed */
void *mem_resize(void *old, size_t size);
char *mem_copy(struct str s); /* NUL-terminated copy */
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* An arena: many small allocations, freed together. Not thread-safe; may be handed from thread to
 * thread. */
struct arena;
struct arena *arena_new(size_t block_size); /* block_size: bytes asked of malloc at a time */
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for any type, never NULL */
char *arena_bytes(struct arena *arena, size_t size); /* not zeroed, not aligned: for text */
struct str arena_copy(struct arena *arena,
                      struct str s); /* keeps NULL as NULL; the copy is NUL-terminated */
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_free(struct arena *arena); /* takes NULL */

/* For CLEANUP(): free() what the variable points to. */
void mem_free_pointer(void *pointer);

#endif
