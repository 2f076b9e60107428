/* Tables on a terminal. Widths are counted in characters, not bytes; what a sender wrote cannot
 * move the cursor. */
#include "ctl/table.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Copies a value with control characters made harmless; returns its width in characters. */
static size_t make_safe(struct str value, struct buf *safe)
{
    size_t width = 0;

    buf_clear(safe);
    for (size_t i = 0; i < value.len; width++) {
        size_t len = utf8_sequence((struct str){value.ptr + i, value.len - i});
        unsigned char c = (unsigned char)value.ptr[i];

        if (len == 0 || c < 0x20 || c == 0x7f ||
            (c == 0xc2 && (unsigned char)value.ptr[i + 1] < 0xa0))
            buf_put_char(safe, c == '\n' || c == '\t' ? ' ' : '?');
        else
            buf_put(safe, value.ptr + i, len);
        i += len ? len : 1;
    }
    return width;
}

static struct str value_at(const struct db_result *rows, int row, int column)
{
    return db_is_null(rows, row, column) ? STR("-") : db_text(rows, row, column);
}

static bool is_number(const char *name)
{
    return strncmp(name, "n_", 2) == 0;
}

static const char *title_of(const char *name)
{
    return is_number(name) ? name + 2 : name;
}

static void print_cell(FILE *out, struct str text, size_t width, size_t column_width, bool right,
                       bool last)
{
    int padding = (int)(column_width - width);

    if (right)
        fprintf(out, "%*s%.*s", padding, "", STR_ARG(text));
    else
        fprintf(out, "%.*s%*s", STR_ARG(text), last ? 0 : padding, "");
    fputs(last ? "\n" : "  ", out);
}

void table_print_text(struct str text, FILE *out)
{
    struct buf safe;

    buf_init(&safe, BUF_NO_CAP);
    (void)make_safe(text, &safe);
    fprintf(out, "%.*s\n", STR_ARG(buf_str(&safe)));
    buf_release(&safe);
}

void table_print(const struct db_result *rows, FILE *out)
{
    int columns = db_columns(rows);
    size_t *widths = mem_alloc((size_t)columns * sizeof(*widths));
    struct buf safe;

    buf_init(&safe, BUF_NO_CAP);
    for (int column = 0; column < columns; column++) {
        widths[column] = strlen(title_of(db_column(rows, column)));
        for (int row = 0; row < db_rows(rows); row++) {
            size_t width = make_safe(value_at(rows, row, column), &safe);

            if (width > widths[column])
                widths[column] = width;
        }
    }
    for (int column = 0; column < columns; column++) {
        const char *name = db_column(rows, column), *title = title_of(name);

        print_cell(out, str_from(title), strlen(title), widths[column], is_number(name),
                   column == columns - 1);
    }
    for (int row = 0; row < db_rows(rows); row++) {
        for (int column = 0; column < columns; column++) {
            size_t width = make_safe(value_at(rows, row, column), &safe);

            print_cell(out, buf_str(&safe), width, widths[column],
                       is_number(db_column(rows, column)), column == columns - 1);
        }
    }
    buf_release(&safe);
    mem_free_pointer(&widths);
}

void table_print_record(const struct db_result *rows, int row, FILE *out)
{
    struct buf safe;

    buf_init(&safe, BUF_NO_CAP);
    for (int column = 0; column < db_columns(rows); column++) {
        if (db_is_null(rows, row, column))
            continue;
        make_safe(db_text(rows, row, column), &safe);
        fprintf(out, "%-18s %.*s\n", db_column(rows, column), STR_ARG(buf_str(&safe)));
    }
    buf_release(&safe);
}
