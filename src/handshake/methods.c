/* Names of methods. */
#include "handshake/methods.h"

#include "base/buf.h"

static const struct {
    const char *name;
    enum method method;
} names[] = {
    {"GET", METHOD_GET},       {"HEAD", METHOD_HEAD}, {"OPTIONS", METHOD_OPTIONS},
    {"POST", METHOD_POST},     {"PUT", METHOD_PUT},   {"PATCH", METHOD_PATCH},
    {"DELETE", METHOD_DELETE},
};

unsigned method_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i].name))
            return names[i].method;
    return 0;
}

const char *methods_text(unsigned methods, struct arena *arena)
{
    const char *text;
    struct buf buf;

    buf_init(&buf, BUF_NO_CAP);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (methods & names[i].method)
            buf_printf(&buf, "%s%s", buf.len ? ", " : "", names[i].name);
    text = arena_copy(arena, buf_str(&buf)).ptr;
    buf_release(&buf);
    return text;
}

int methods_parse(struct str text, unsigned *methods, struct err *err)
{
    unsigned read = 0;

    for (;;) {
        const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
        size_t len = comma ? (size_t)(comma - text.ptr) : text.len;
        struct str name = str_trim((struct str){text.ptr, len});
        unsigned method = method_of(name);

        if (!method || (method & (METHOD_HEAD | METHOD_OPTIONS)))
            return err_set(
                err, ERR_INPUT,
                "\"%.*s\" is no method of events; write one or more of POST, PUT, PATCH, "
                "DELETE and GET, separated by commas",
                STR_ARG(name));
        read |= method;
        if (!comma)
            break;
        text = (struct str){comma + 1, text.len - len - 1};
    }
    *methods = read;
    return 0;
}
