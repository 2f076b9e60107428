/* The table of kinds. To add one: a row here, and a file in src/work that runs it. */
#include "route/kind.h"

#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "config/value.h"

#define MODULE_NAME_MAX 64
#define PATH_MAX_BYTES 1024

/* A name as PostgreSQL takes it without quotes. */
static bool is_sql_name(struct str name)
{
    if (name.len == 0 || name.len > 63)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || c == '_';

        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '$')))
            return false;
    }
    return true;
}

static bool is_function(struct str name)
{
    const char *dot = memchr(name.ptr, '.', name.len);
    struct str schema = {name.ptr, dot ? (size_t)(dot - name.ptr) : 0};

    return dot && is_sql_name(schema) &&
           is_sql_name((struct str){dot + 1, name.len - schema.len - 1});
}

/* Part of a file's name, so nothing that leads to another folder. */
static bool is_module(struct str name)
{
    if (name.len == 0 || name.len > MODULE_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return false;
    }
    return true;
}

static bool is_program(struct str name)
{
    return name.len > 1 && name.len <= PATH_MAX_BYTES && name.ptr[0] == '/' &&
           name.ptr[name.len - 1] != '/' && !memchr(name.ptr, '\0', name.len);
}

/* clang-format off */
static const struct route_kind_row kinds[ROUTE_KINDS] = {
    [ROUTE_SQL] = {"sql", true, false, WORK_SQL, "sql:SCHEMA.FUNCTION", is_function,
                   "does not name a function; write sql:SCHEMA.FUNCTION, each a lower-case letter "
                   "or _ and up to 62 more of a-z, 0-9, _ and $"},
    [ROUTE_MODULE] = {"module", true, false, WORK_LEASED, "module:NAME", is_module,
                      "does not name a module; write module:NAME, up to 64 of a-z, 0-9, _ and -"},
    [ROUTE_EXEC] = {"exec", true, false, WORK_LEASED, "exec:/PATH", is_program,
                    "does not name a program; write exec:/PATH, the whole path, without arguments"},
    [ROUTE_PULL] = {"pull", false, true, WORK_PULL, "pull", NULL, NULL},
    [ROUTE_IGNORE] = {"ignore", false, true, WORK_SQL, "ignore", NULL, NULL},
};
/* clang-format on */

const struct route_kind_row *route_kind_row(enum route_kind kind)
{
    return &kinds[kind];
}

static int refuse(struct str text, struct err *err)
{
    struct buf list;
    char shown[VALUE_SHOWN_SIZE];

    value_show(text, shown);
    buf_init(&list, BUF_NO_CAP);
    for (size_t i = 0; i < ROUTE_KINDS; i++)
        buf_printf(&list, "%s%s",
                   i == 0                 ? ""
                   : i == ROUTE_KINDS - 1 ? " or "
                                          : ", ",
                   kinds[i].written);
    err_set(err, ERR_INPUT, "%s is not an action; write %.*s", shown, STR_ARG(buf_str(&list)));
    buf_release(&list);
    return -1;
}

int route_kind_parse(struct str text, enum route_kind *kind, struct str *name, struct err *err)
{
    const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
    struct str word = {text.ptr, colon ? (size_t)(colon - text.ptr) : text.len};
    char shown[VALUE_SHOWN_SIZE];

    for (size_t i = 0; i < ROUTE_KINDS; i++) {
        if (!str_is(word, kinds[i].name) || kinds[i].named != (colon != NULL))
            continue;
        *kind = (enum route_kind)i;
        *name = colon ? (struct str){colon + 1, text.len - word.len - 1} : STR("");
        if (!kinds[i].is_name || kinds[i].is_name(*name))
            return 0;
        value_show(text, shown);
        return err_set(err, ERR_INPUT, "%s %s", shown, kinds[i].right);
    }
    return refuse(text, err);
}
