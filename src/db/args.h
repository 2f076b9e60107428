/* Parameters of a statement, in PostgreSQL's binary format. Built once, used again after
 * db_args_clear(). Not thread-safe. */
#ifndef DB_ARGS_H
#define DB_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Types by their OID in PostgreSQL's catalogue (pg_type.dat). */
enum db_type {
    DB_BOOL = 16,
    DB_BYTEA = 17,
    DB_INT8 = 20,
    DB_INT2 = 21,
    DB_INT4 = 23,
    DB_TEXT = 25,
    DB_FLOAT8 = 701,
    DB_TIMESTAMPTZ = 1184,
};

struct db_args;

struct db_args *db_args_new(void);
void db_args_free(struct db_args *args); /* takes NULL */
void db_args_clear(struct db_args *args);

/* One parameter each, in the order of $1, $2, ... A str with ptr NULL is null. */
void db_args_text(struct db_args *args, struct str value);
void db_args_bytea(struct db_args *args, struct str value);
void db_args_int8(struct db_args *args, int64_t value);
void db_args_int4(struct db_args *args, int32_t value);
void db_args_float8(struct db_args *args, double value);
void db_args_bool(struct db_args *args, bool value);
void db_args_time(struct db_args *args,
                  int64_t us_since_2000); /* INT64_MIN: -infinity, INT64_MAX: infinity */
void db_args_null(struct db_args *args, enum db_type type);
void db_args_null_array(struct db_args *args, enum db_type element);

/* An array parameter: begin, then elements, then end. */
void db_args_array_begin(struct db_args *args, enum db_type element);
void db_args_array_end(struct db_args *args);
void db_args_element(struct db_args *args, struct str value); /* text or bytea; ptr NULL: null */
void db_args_element_int8(struct db_args *args, int64_t value);
void db_args_element_int4(struct db_args *args, int32_t value);
void db_args_element_int2(struct db_args *args, int16_t value);
void db_args_element_float8(struct db_args *args, double value);
void db_args_element_bool(struct db_args *args, bool value);
void db_args_element_time(struct db_args *args, int64_t us_since_2000);
void db_args_element_null(struct db_args *args); /* of the array's type */

/* For db.c: the parameters as libpq wants them. Valid until the next change. */
struct db_args_view {
    int count;
    const unsigned *types;
    const char *const *values;
    const int *lengths;
    const int *formats;
};
struct db_args_view db_args_view(struct db_args *args);

#endif
