/* Formats: a word or two, and a choice by Content-Type only where there are two. */
#include "provider/format.h"

#include "base/form.h"
#include "provider/cloudevent.h"

#define RIGHT                                                                                      \
    "write json, form, form:FIELD, raw or cloudevents, or a choice such as json | form:payload"

static int add_plain(struct format *format, enum format_kind kind, struct err *err)
{
    if (format->plain != FORMAT_NONE)
        return err_set(err, ERR_INPUT,
                       "only a form can be told from something else by its Content-Type; " RIGHT);
    format->plain = kind;
    return 0;
}

static int add_form(struct format *format, struct str field, struct err *err)
{
    if (format->form)
        return err_set(err, ERR_INPUT, "a form is named twice; " RIGHT);
    if (field.ptr && (field.len == 0 || memchr(field.ptr, ' ', field.len)))
        return err_set(err, ERR_INPUT, "form: wants the name of a field; " RIGHT);
    format->form = true;
    format->field = field;
    return 0;
}

static int add(struct format *format, struct str word, struct err *err)
{
    static const struct str mark = {"form:", 5};

    if (str_is(word, "json"))
        return add_plain(format, FORMAT_JSON, err);
    if (str_is(word, "raw"))
        return add_plain(format, FORMAT_RAW, err);
    if (str_is(word, "cloudevents"))
        return add_plain(format, FORMAT_CLOUDEVENTS, err);
    if (str_is(word, "form"))
        return add_form(format, STR_NONE, err);
    if (str_starts(word, mark))
        return add_form(format, (struct str){word.ptr + mark.len, word.len - mark.len}, err);
    return err_set(err, ERR_INPUT, "\"%.*s\" is no format; " RIGHT, STR_ARG(word));
}

int format_parse(struct str text, struct format *format, struct err *err)
{
    struct format parsed = {0};
    bool more = true;

    while (more) {
        const char *bar = text.len ? memchr(text.ptr, '|', text.len) : NULL;
        size_t len = bar ? (size_t)(bar - text.ptr) : text.len;

        if (add(&parsed, str_trim((struct str){text.ptr, len}), err) < 0)
            return -1;
        more = bar;
        len += bar ? 1 : 0;
        text = (struct str){text.ptr + len, text.len - len};
    }
    if (parsed.plain == FORMAT_CLOUDEVENTS && parsed.form)
        return err_set(err, ERR_INPUT, "cloudevents stands alone: Content-Type says the rest");
    *format = parsed;
    return 0;
}

/* A header that comes several times has to say it every time. */
static bool says_form(const struct request *request)
{
    bool says = false;

    for (size_t i = 0; i < request->header_count; i++) {
        struct str value = request->headers[i].value;
        const char *semicolon = value.len ? memchr(value.ptr, ';', value.len) : NULL;

        if (!str_equal_nocase(request->headers[i].name, STR("content-type")))
            continue;
        if (semicolon)
            value.len = (size_t)(semicolon - value.ptr);
        if (!str_equal_nocase(str_trim(value), STR("application/x-www-form-urlencoded")))
            return false;
        says = true;
    }
    return says;
}

static enum format_kind kind_of(const struct format *format, const struct request *request)
{
    if (format->form && (format->plain == FORMAT_NONE || says_form(request)))
        return FORMAT_FORM;
    return format->plain;
}

static enum refusal read_form(const struct format *format, struct str text, struct arena *arena,
                              struct str *json)
{
    struct form form;

    if (!form_read(text, arena, &form))
        return REFUSAL_INVALID_FORM;
    if (!format->field.ptr) {
        *json = form_json(&form, arena);
        return REFUSAL_NONE;
    }
    switch (form_find(&form, format->field, json)) {
    case 0:
        return REFUSAL_MISSING_FORM_FIELD;
    case 1:
        return REFUSAL_NONE;
    default:
        return REFUSAL_INVALID_FORM; /* which of them is meant cannot be told */
    }
}

static enum refusal read_cloudevents(const struct request *request, struct str text,
                                     struct str *json)
{
    switch (cloudevent_mode(request)) {
    case CLOUDEVENT_UNKNOWN:
        return REFUSAL_UNSUPPORTED_EVENT_FORMAT;
    case CLOUDEVENT_BINARY:
        if (!cloudevent_is_sound(request))
            return REFUSAL_INVALID_CLOUDEVENT;
        if (text.len > 0 && cloudevent_has_json(request))
            *json = text;
        return REFUSAL_NONE;
    case CLOUDEVENT_STRUCTURED:
    case CLOUDEVENT_BATCH:
        break;
    }
    *json = text.ptr ? text : STR("");
    return REFUSAL_NONE;
}

bool format_may_split(const struct format *format, const struct request *request)
{
    return format->plain != FORMAT_CLOUDEVENTS || cloudevent_mode(request) == CLOUDEVENT_BATCH;
}

bool format_has_attributes_in_headers(const struct format *format, const struct request *request)
{
    return format->plain == FORMAT_CLOUDEVENTS && cloudevent_mode(request) == CLOUDEVENT_BINARY;
}

enum refusal format_read(const struct format *format, const struct request *request,
                         struct str text, struct arena *arena, struct str *json)
{
    *json = STR_NONE;
    switch (kind_of(format, request)) {
    case FORMAT_FORM:
        return read_form(format, text, arena, json);
    case FORMAT_JSON:
        *json = text.ptr ? text : STR("");
        break;
    case FORMAT_CLOUDEVENTS:
        return read_cloudevents(request, text, json);
    case FORMAT_RAW:
    case FORMAT_NONE:
        break;
    }
    return REFUSAL_NONE;
}
