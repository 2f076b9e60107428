/* Rows for people: columns aligned under their names. */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdio.h>

#include "db/db.h"

/* Prints all columns, which must be text. Null is shown as "-", control characters as "?". Columns
 * whose name begins with "n_" are numbers: the prefix is not printed, the values stand
 * right-aligned. */
void table_print(const struct db_result *rows, FILE *out);

/* Prints a text as one line, with control characters shown as "?". */
void table_print_text(struct str text, FILE *out);

/* Prints one row as "name: value" lines. */
void table_print_record(const struct db_result *rows, int row, FILE *out);

#endif
