/* Files compiled into the program by cmake/embed.cmake: migrations, SQL statements, presets. */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include <stddef.h>

struct embedded {
    const char *name; /* file name without folder, e.g. "001_schema.sql" */
    const char *text; /* NUL-terminated */
    size_t len;       /* bytes without the NUL */
};

/* Sorted by name. Immutable, usable from any thread. The array ends with a row whose name is NULL.
 */
extern const struct embedded embedded_migrations[]; /* sql/NNN_name.sql */
extern const size_t embedded_migrations_count;
extern const struct embedded embedded_queries[]; /* sql/query/NAME.sql */
extern const size_t embedded_queries_count;
extern const struct embedded embedded_presets[]; /* config/presets/NAME.conf */
extern const size_t embedded_presets_count;

#endif
