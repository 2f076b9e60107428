/* Variables as "NAME=VALUE" in an arena, and a list that points to them. */
#include "exec/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define HEADER "INBOXD_HEADER_"
#define LEFT_OUT "INBOXD_LEFT_OUT"
#define LISTED_MAX 4096 /* bytes of names in it */

struct environment {
    struct arena *arena;
    char **list;
    size_t count, size;
    size_t bytes; /* as execve() counts: texts with their NUL, and pointers */
    struct buf left_out;
    bool listed_all;
};

struct environment *environment_new(void)
{
    struct environment *environment = mem_alloc(sizeof(*environment));

    environment->arena = arena_new(8192);
    environment->listed_all = true;
    buf_init(&environment->left_out, BUF_NO_CAP);
    return environment;
}

void environment_free(struct environment *environment)
{
    if (!environment)
        return;
    buf_release(&environment->left_out);
    arena_free(environment->arena);
    free(environment->list);
    free(environment);
}

static void append(struct environment *environment, char *variable)
{
    if (environment->count + 1 >= environment->size) {
        environment->size = environment->size ? environment->size * 2 : 32;
        environment->list =
            mem_resize(environment->list, environment->size * sizeof(*environment->list));
    }
    environment->list[environment->count++] = variable;
    environment->list[environment->count] = NULL;
}

static void leave_out(struct environment *environment, struct str name)
{
    struct buf *buf = &environment->left_out;

    if (buf->len + name.len + 1 > LISTED_MAX) {
        if (environment->listed_all)
            buf_put_str(buf, STR(" ..."));
        environment->listed_all = false;
        return;
    }
    if (buf->len > 0)
        buf_put_char(buf, ' ');
    buf_put_str(buf, name);
}

static void add(struct environment *environment, struct str name, struct str value)
{
    size_t bytes = name.len + 1 + value.len + 1 + sizeof(char *);

    if (!value.ptr)
        return;
    if (value.len > ENVIRONMENT_VALUE_MAX || environment->bytes + bytes > ENVIRONMENT_MAX ||
        memchr(value.ptr, '\0', value.len)) {
        leave_out(environment, name);
        return;
    }
    environment->bytes += bytes;
    append(environment,
           arena_printf(environment->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(value)));
}

void environment_add(struct environment *environment, const char *name, struct str value)
{
    add(environment, str_from(name), value);
}

static bool is_there(const struct environment *environment, struct str name)
{
    for (size_t i = 0; i < environment->count; i++) {
        struct str variable = str_from(environment->list[i]);

        if (str_starts(variable, name) && variable.ptr[name.len] == '=')
            return true;
    }
    return false;
}

static char capital(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

void environment_add_header(struct environment *environment, struct str name, struct str value)
{
    size_t prefix = strlen(HEADER);
    struct str variable = {NULL, prefix + name.len};
    char *text;

    if (name.len == 0 || name.len > 256 || str_is(value, "[redacted]"))
        return;
    text = arena_printf(environment->arena, HEADER "%.*s", STR_ARG(name));
    for (size_t i = prefix; i < variable.len; i++)
        text[i] = capital(text[i]);
    variable.ptr = text;
    if (!is_there(environment, variable))
        add(environment, variable, value);
}

const char *const *environment_list(struct environment *environment)
{
    struct buf *buf = &environment->left_out;

    if (buf->len > 0)
        append(environment,
               arena_printf(environment->arena, LEFT_OUT "=%.*s", STR_ARG(buf_str(buf))));
    buf_clear(buf);
    return (const char *const *)environment->list;
}
