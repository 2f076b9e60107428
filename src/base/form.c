/* Forms. Names are compared by sorting, so that a form of many fields costs no square of them. */
#include "base/form.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/codec.h"
#include "base/utf8.h"

/* ---- reading ---- */

static struct str take(struct str *rest, char stop)
{
    const char *end = rest->len ? memchr(rest->ptr, stop, rest->len) : NULL;
    struct str piece = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t taken = piece.len + (end ? 1 : 0);

    if (taken > 0)
        *rest = (struct str){rest->ptr + taken, rest->len - taken};
    return piece;
}

static size_t count_fields(struct str text)
{
    size_t count = 0;

    while (text.len > 0)
        count += take(&text, '&').len > 0;
    return count;
}

/* Decodes to *out, which moves behind. */
static bool decode(struct str encoded, char **out, struct str *decoded)
{
    ssize_t len = codec_percent_decode(encoded, *out);

    if (len < 0)
        return false;
    *decoded = (struct str){*out, (size_t)len};
    *out += len;
    return true;
}

bool form_read(struct str text, struct arena *arena, struct form *form)
{
    size_t count = count_fields(text);
    struct form read = {0};
    char *out;

    if (count > FORM_FIELDS_MAX)
        return false;
    read.fields = arena_alloc(arena, (count + 1) * sizeof(*read.fields));
    out = arena_bytes(arena, text.len + 1);
    while (text.len > 0) {
        struct str value = take(&text, '&'), name;
        struct form_field *field = &read.fields[read.count];

        if (value.len == 0)
            continue;
        name = take(&value, '=');
        if (!decode(name, &out, &field->name) || !decode(value, &out, &field->value))
            return false;
        read.count++;
    }
    *form = read;
    return true;
}

size_t form_find(const struct form *form, struct str name, struct str *value)
{
    size_t found = 0;

    for (size_t i = 0; i < form->count; i++)
        if (str_equal(form->fields[i].name, name) && found++ == 0)
            *value = form->fields[i].value;
    return found;
}

/* ---- as JSON ---- */

/* A field among those of its name. */
struct place {
    const struct form_field *field;
    struct place *next; /* the next one of that name */
    bool later;         /* there is one before it */
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    int order = str_compare(a->field->name, b->field->name);

    return order ? order : (a > b) - (a < b);
}

static struct place *link_names(const struct form *form, struct arena *arena)
{
    struct place *places = arena_alloc(arena, (form->count + 1) * sizeof(*places));
    struct place **sorted = arena_alloc(arena, (form->count + 1) * sizeof(*sorted));

    for (size_t i = 0; i < form->count; i++) {
        places[i].field = &form->fields[i];
        sorted[i] = &places[i];
    }
    qsort(sorted, form->count, sizeof(*sorted), compare_places);
    for (size_t i = 1; i < form->count; i++) {
        if (!str_equal(sorted[i - 1]->field->name, sorted[i]->field->name))
            continue;
        sorted[i - 1]->next = sorted[i];
        sorted[i]->later = true;
    }
    return places;
}

/* How many bytes stand in a JSON string as they are. */
static size_t plain_run(struct str text)
{
    size_t i = 0, len;

    while (i < text.len) {
        unsigned char c = (unsigned char)text.ptr[i];

        len = c < 0x80 ? 1 : utf8_sequence((struct str){text.ptr + i, text.len - i});
        if (len == 0 || c < 0x20 || c == '"' || c == '\\')
            break;
        i += len;
    }
    return i;
}

/* A quote, a backslash, a control character, or a byte that is not UTF-8. */
static void put_escaped(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char code[6] = {'\\',        'u',        c < 0x80 ? '0' : 'd', c < 0x80 ? '0' : 'c',
                          hex[c >> 4], hex[c & 15]};

    buf_put(out, code, sizeof(code));
}

static void put_string(struct buf *out, struct str text)
{
    buf_put_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        size_t run = plain_run((struct str){text.ptr + i, text.len - i});

        buf_put(out, text.ptr + i, run);
        i += run;
        if (i < text.len)
            put_escaped(out, (unsigned char)text.ptr[i]);
    }
    buf_put_char(out, '"');
}

static void put_values(struct buf *out, const struct place *place)
{
    if (!place->next) {
        put_string(out, place->field->value);
        return;
    }
    buf_put_char(out, '[');
    for (const struct place *one = place; one; one = one->next) {
        if (one != place)
            buf_put_char(out, ',');
        put_string(out, one->field->value);
    }
    buf_put_char(out, ']');
}

struct str form_json(const struct form *form, struct arena *arena)
{
    const struct place *places = link_names(form, arena);
    struct buf out;
    struct str json;

    buf_init(&out, BUF_NO_CAP);
    buf_put_char(&out, '{');
    for (size_t i = 0; i < form->count; i++) {
        if (places[i].later)
            continue;
        if (out.len > 1)
            buf_put_char(&out, ',');
        put_string(&out, places[i].field->name);
        buf_put_char(&out, ':');
        put_values(&out, &places[i]);
    }
    buf_put_char(&out, '}');
    json = arena_copy(arena, buf_str(&out));
    buf_release(&out);
    return json;
}
