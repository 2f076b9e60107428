/* What follows a scan, on documents and slices that it found good: the content of a string, the
 * elements of an array. Bytes that are no JSON give odd results, never a read outside of them. */
#include "base/json_lex.h"

/* Copies raw with its escapes resolved. */
static void decode(const unsigned char *p, const unsigned char *end, char *out,
                   struct json_text *text)
{
    text->bytes.ptr = out;
    while (p < end) {
        const unsigned char *run = p;
        uint32_t character;

        while (p < end && *p != '\\')
            p++;
        memcpy(out, run, (size_t)(p - run));
        out += p - run;
        if (p == end)
            break;
        p = json_read_escape(p, end, &character);
        if (!p)
            break;
        if (character == 0)
            text->nul = true;
        else if (json_is_surrogate(character))
            text->lone_surrogate = true;
        out = json_write_utf8(out, character);
    }
    text->bytes.len = (size_t)(out - text->bytes.ptr);
}

struct json_text json_string_text(struct str string, struct arena *arena)
{
    struct json_text text = {{string.ptr + 1, string.len - 2}, false, false};

    if (memchr(text.bytes.ptr, '\\', text.bytes.len))
        decode((const unsigned char *)text.bytes.ptr,
               (const unsigned char *)text.bytes.ptr + text.bytes.len,
               arena_bytes(arena, text.bytes.len), &text);
    return text;
}

/* p is after the opening quote; returns the place after the closing one, or end. */
static const unsigned char *after_string(const unsigned char *p, const unsigned char *end)
{
    for (;;) {
        p = json_skip_plain(p, end);
        if (p == end)
            return end;
        if (*p == '"')
            return p + 1;
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    }
}

/* The place after the value that begins at p. */
static const unsigned char *after_value(const unsigned char *p, const unsigned char *end)
{
    size_t depth = 0;

    while (p < end) {
        unsigned char c = *p;

        if (depth == 0 && (c == ',' || c == ']' || (json_class[c] & JSON_C_BLANK)))
            return p;
        if (c == '"') {
            p = after_string(p + 1, end);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        p++;
    }
    return end;
}

struct json_items json_items_begin(struct str array)
{
    return (struct json_items){array.ptr + 1, array.ptr + array.len - 1};
}

bool json_items_next(struct json_items *items, struct json_value *element)
{
    const unsigned char *end = (const unsigned char *)items->end;
    const unsigned char *start = json_skip_blanks((const unsigned char *)items->next, end);
    const unsigned char *after;

    if (start == end)
        return false;
    after = after_value(start, end);
    element->kind = json_kind_of(*start);
    element->text = (struct str){(const char *)start, (size_t)(after - start)};
    after = json_skip_blanks(after, end);
    items->next = (const char *)(after < end ? after + 1 : after); /* the comma */
    return true;
}

bool json_members_next(struct json_items *items, struct json_value *name, struct json_value *value)
{
    const unsigned char *end = (const unsigned char *)items->end;
    const unsigned char *start = json_skip_blanks((const unsigned char *)items->next, end);
    const unsigned char *after;

    if (start == end)
        return false;
    after = after_string(start + 1, end);
    name->kind = JSON_KIND_STRING;
    name->text = (struct str){(const char *)start, (size_t)(after - start)};
    after = json_skip_blanks(after, end);
    items->next = (const char *)(after < end ? after + 1 : after); /* the colon */
    return json_items_next(items, value);
}
