/* The prefix of a batch begins with that of a single event, so it is looked for first. */
#include "provider/cloudevent.h"

#include "base/codec.h"
#include "base/utf8.h"

const char *const cloudevent_required[CLOUDEVENT_REQUIRED] = {"id", "source", "specversion",
                                                              "type"};

/* The media type without its parameters; ptr NULL: there is none, or several. */
static struct str media_type(const struct request *request)
{
    struct str type = STR_NONE;
    const char *semicolon;

    if (request_header(request, STR("content-type"), &type) != 1)
        return STR_NONE;
    semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;
    if (semicolon)
        type.len = (size_t)(semicolon - type.ptr);
    return str_trim(type);
}

static bool starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_equal_nocase((struct str){s.ptr, prefix.len}, prefix);
}

static bool ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           str_equal_nocase((struct str){s.ptr + s.len - suffix.len, suffix.len}, suffix);
}

enum cloudevent_mode cloudevent_mode(const struct request *request)
{
    const struct str batch = STR("application/cloudevents-batch");
    const struct str single = STR("application/cloudevents");
    struct str type = media_type(request), rest;
    bool is_batch = starts(type, batch);

    if (!is_batch && !starts(type, single))
        return CLOUDEVENT_BINARY;
    rest = is_batch ? batch : single;
    rest = (struct str){type.ptr + rest.len, type.len - rest.len};
    if (rest.len > 0 && !str_equal_nocase(rest, STR("+json")))
        return CLOUDEVENT_UNKNOWN;
    return is_batch ? CLOUDEVENT_BATCH : CLOUDEVENT_STRUCTURED;
}

bool cloudevent_has_json(const struct request *request)
{
    struct str type = media_type(request);

    return str_equal_nocase(type, STR("application/json")) ||
           str_equal_nocase(type, STR("text/json")) || ends(type, STR("+json"));
}

bool cloudevent_is_sound(const struct request *request)
{
    struct str value;

    return request_header(request, STR("ce-datacontenttype"), &value) == 0 &&
           request_header(request, STR("content-type"), &value) <= 1;
}

/* Of a quoted string what is in it; false: it does not end well. */
static bool unquote(struct str *value, struct arena *arena)
{
    char *out;
    size_t len = 0;

    if (value->len == 0 || value->ptr[0] != '"')
        return true;
    if (value->len < 2 || value->ptr[value->len - 1] != '"')
        return false;
    out = arena_bytes(arena, value->len);
    for (size_t i = 1; i + 1 < value->len; i++) {
        if (value->ptr[i] == '\\' && ++i + 1 == value->len)
            return false;
        out[len++] = value->ptr[i];
    }
    *value = (struct str){out, len};
    return true;
}

/* One round; a "+" stays what it is. */
static bool percent_decode(struct str *value, struct arena *arena)
{
    char *out;
    size_t len = 0;

    if (!value->len || !memchr(value->ptr, '%', value->len))
        return true;
    out = arena_bytes(arena, value->len);
    for (size_t i = 0; i < value->len; i++) {
        unsigned char byte = (unsigned char)value->ptr[i];

        if (byte == '%') {
            if (value->len - i < 3 ||
                codec_hex_decode((struct str){value->ptr + i + 1, 2}, &byte, 1) != 1)
                return false;
            i += 2;
        }
        out[len++] = (char)byte;
    }
    *value = (struct str){out, len};
    return true;
}

struct str cloudevent_header(const struct request *request, struct str name, struct arena *arena)
{
    struct str header = str_from(arena_printf(arena, "ce-%.*s", STR_ARG(name)));
    struct str value = STR_NONE;

    if (request_header(request, header, &value) != 1 || !unquote(&value, arena) ||
        !percent_decode(&value, arena) || value.len == 0 || !utf8_valid(value) ||
        memchr(value.ptr, '\0', value.len))
        return STR_NONE;
    return value;
}

bool cloudevent_names_attribute(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') ||
              (name.ptr[i] >= '0' && name.ptr[i] <= '9')))
            return false;
    return name.len > 0;
}
