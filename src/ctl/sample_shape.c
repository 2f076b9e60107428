/* A sample in the shape that a provider's sources read: what event_id, event_type and key name
 * first is there, as members of the body or as headers. The texts were compiled before, so their
 * form is known to be right. */
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "ctl/sample.h"
#include "provider/format.h"

#define MEMBERS_MAX 32

struct member {
    struct str pointer, value;
};

struct shape {
    struct member members[MEMBERS_MAX];
    size_t count;
    struct str event; /* where the event is in the document */
    struct arena *arena;
};

/* ---- what the sources name ---- */

/* The next part of a source's first alternative; false: there is none. */
static bool next_part(struct str *rest, struct str *part)
{
    size_t len = 0;

    *rest = str_trim(*rest);
    if (rest->len == 0 || *rest->ptr == '|')
        return false;
    if (*rest->ptr == '\'')
        while (++len < rest->len && rest->ptr[len] != '\'')
            ;
    while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
        len++;
    *part = (struct str){rest->ptr, len};
    *rest = str_trim((struct str){rest->ptr + len, rest->len - len});
    if (rest->len > 0 && *rest->ptr == '+')
        *rest = (struct str){rest->ptr + 1, rest->len - 1};
    return true;
}

static bool take(struct str *part, struct str mark)
{
    if (!str_starts(*part, mark))
        return false;
    part->ptr += mark.len;
    part->len -= mark.len;
    return true;
}

/* Whether one is the other, or leads to it. */
static bool on_one_path(struct str a, struct str b)
{
    struct str shorter = a.len < b.len ? a : b, longer = a.len < b.len ? b : a;

    return str_starts(longer, shorter) &&
           (longer.len == shorter.len || longer.ptr[shorter.len] == '/');
}

/* The first to claim a place has it. */
static void add_member(struct shape *shape, struct str pointer, struct str value)
{
    if (shape->count == MEMBERS_MAX || pointer.len == 0)
        return;
    for (size_t i = 0; i < shape->count; i++)
        if (on_one_path(shape->members[i].pointer, pointer))
            return;
    shape->members[shape->count++] = (struct member){pointer, value};
}

/* `prefix` and `pointer` as one, each "*" the first element. From the arena. */
static struct str joined(struct str prefix, struct str pointer, struct arena *arena)
{
    struct str all = str_from(arena_printf(arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(pointer)));
    char *text = arena_bytes(arena, all.len);

    for (size_t i = 0; i < all.len; i++)
        text[i] = all.ptr[i] == '*' && i > 0 && all.ptr[i - 1] == '/' &&
                          (i + 1 == all.len || all.ptr[i + 1] == '/')
                      ? '0'
                      : all.ptr[i];
    return (struct str){text, all.len};
}

/* Where the event is in the document: the first element of what `split` names first. */
static struct str event_place(const struct provider_config *provider, struct arena *arena)
{
    struct str split = provider->split.text, part;

    if (!split.ptr || !next_part(&split, &part) || !take(&part, STR("body:")))
        return STR("");
    return joined(part, STR("/0"), arena);
}

static void add_source(struct shape *shape, struct str source, struct str value)
{
    struct str part;

    while (next_part(&source, &part)) {
        if (take(&part, STR("body:")))
            add_member(shape, joined(shape->event, part, shape->arena), value);
        else if (take(&part, STR("request:")))
            add_member(shape, joined(STR(""), part, shape->arena), value);
    }
}

/* ---- as JSON ---- */

/* The token of `pointer` behind `depth` others; ptr NULL: it has no more. */
static struct str token_at(struct str pointer, size_t depth)
{
    size_t start = 0, end;

    for (size_t slashes = 0; start < pointer.len; start++)
        if (pointer.ptr[start] == '/' && slashes++ == depth)
            break;
    if (start >= pointer.len)
        return STR_NONE;
    end = ++start;
    while (end < pointer.len && pointer.ptr[end] != '/')
        end++;
    return (struct str){pointer.ptr + start, end - start};
}

static bool same_branch(struct str a, struct str b, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if (!str_equal(token_at(a, i), token_at(b, i)))
            return false;
    return true;
}

/* A name as the pointer has it, with its two escapes undone. */
static void put_name(struct buf *out, struct str token)
{
    buf_put_char(out, '"');
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] != '~' || i + 1 == token.len)
            buf_put_char(out, token.ptr[i]);
        else
            buf_put_char(out, token.ptr[++i] == '1' ? '/' : '~');
    }
    buf_put_str(out, STR("\":"));
}

static void put_value(struct buf *out, const struct shape *shape, size_t first, size_t depth);

/* The object, or the array of one, that the members of the branch of `first` share at `depth`. */
static void put_level(struct buf *out, const struct shape *shape, size_t first, size_t depth)
{
    struct str branch = shape->members[first].pointer;
    bool array = str_is(token_at(branch, depth), "0"), some = false;

    buf_put_char(out, array ? '[' : '{');
    for (size_t i = first; i < shape->count; i++) {
        struct str token = token_at(shape->members[i].pointer, depth);
        bool done = !same_branch(shape->members[i].pointer, branch, depth);

        for (size_t j = first; j < i && !done; j++)
            done = same_branch(shape->members[j].pointer, shape->members[i].pointer, depth + 1);
        if (done || (array && some))
            continue;
        if (some)
            buf_put_char(out, ',');
        if (!array)
            put_name(out, token);
        put_value(out, shape, i, depth + 1);
        some = true;
    }
    buf_put_char(out, array ? ']' : '}');
}

static void put_value(struct buf *out, const struct shape *shape, size_t first, size_t depth)
{
    const struct member *member = &shape->members[first];

    if (token_at(member->pointer, depth).ptr)
        put_level(out, shape, first, depth);
    else
        buf_printf(out, "\"%.*s\"", STR_ARG(member->value));
}

/* ---- as a form ---- */

static void put_encoded(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_';

        if (plain)
            buf_put_char(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

/* Fields have no members of their own. */
static void put_fields(struct buf *out, const struct shape *shape)
{
    for (size_t i = 0; i < shape->count; i++) {
        struct str pointer = shape->members[i].pointer;

        if (token_at(pointer, 1).ptr)
            continue;
        if (out->len > 0)
            buf_put_char(out, '&');
        put_encoded(out, token_at(pointer, 0));
        buf_put_char(out, '=');
        put_encoded(out, shape->members[i].value);
    }
}

static void put_field(struct buf *out, const struct shape *shape, struct str name)
{
    struct buf json;

    buf_init(&json, BUF_NO_CAP);
    put_level(&json, shape, 0, 0);
    put_encoded(out, name);
    buf_put_char(out, '=');
    put_encoded(out, buf_str(&json));
    buf_release(&json);
}

void sample_shape_body(const struct provider_config *provider, const char *id, struct arena *arena,
                       struct buf *out)
{
    struct format format;
    struct err err;
    bool form = format_parse(provider->format.text, &format, &err) == 0 && format.form &&
                format.plain == FORMAT_NONE;
    struct shape shape = {.event = event_place(provider, arena), .arena = arena};

    add_source(&shape, provider->event_id.text, str_from(id));
    add_source(&shape, provider->event_type.text, STR("sample.created"));
    add_source(&shape, provider->key.text, STR("sample"));
    add_source(&shape, STR("body:/id"), str_from(id));
    add_source(&shape, STR("body:/type"), STR("sample.created"));
    add_source(&shape, STR("body:/data/note"), STR("sent by inboxctl"));
    if (!form)
        put_level(out, &shape, 0, 0);
    else if (format.field.ptr)
        put_field(out, &shape, format.field);
    else
        put_fields(out, &shape);
}

/* ---- as headers ---- */

static size_t add_headers(struct str source, struct str value, struct header *headers, size_t count,
                          size_t max)
{
    struct str part;

    while (next_part(&source, &part)) {
        bool known = !take(&part, STR("header:"));

        for (size_t i = 0; i < count && !known; i++)
            known = str_equal_nocase(headers[i].name, part);
        if (!known && count < max)
            headers[count++] = (struct header){part, value};
    }
    return count;
}

/* A CloudEvent in binary mode: the body is the data. */
static size_t cloudevent_headers(struct str id, struct header *headers, size_t max)
{
    const struct header all[] = {{STR("ce-specversion"), STR("1.0")},
                                 {STR("ce-id"), id},
                                 {STR("ce-source"), STR("/inboxctl/send")},
                                 {STR("ce-type"), STR("sample.created")}};
    size_t count = ARRAY_LEN(all) < max ? ARRAY_LEN(all) : max;

    memcpy(headers, all, count * sizeof(*headers));
    return count;
}

size_t sample_headers(const struct provider_config *provider, const char *id, struct arena *arena,
                      struct header *headers, size_t max)
{
    bool github = provider->preset.ptr && str_is(provider->preset, "github");
    struct str own_id = arena_copy(arena, str_from(id));
    size_t count =
        str_is(provider->format.text, "cloudevents") ? cloudevent_headers(own_id, headers, max) : 0;

    count = add_headers(provider->event_type.text,
                        github ? STR("pull_request") : STR("sample.created"), headers, count, max);
    count = add_headers(provider->event_id.text, own_id, headers, count, max);
    return add_headers(provider->key.text, STR("sample"), headers, count, max);
}
