/* A table of changes that proxies, frameworks, editors and capturing programs make, each undone;
 * then JSON written anew in all ways. */
#include "diagnose/bodies.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/form.h"
#include "base/inflate.h"
#include "base/json.h"
#include "base/utf8.h"
#include "diagnose/rejson.h"

#define INFLATED_MAX (16 * 1024 * 1024)

static const struct str bom = {"\xef\xbb\xbf", 3};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- each change; false: it does not apply ---- */

static bool ends_without(struct str body, struct buf *out)
{
    while (body.len > 0 && (body.ptr[body.len - 1] == '\n' || body.ptr[body.len - 1] == '\r'))
        body.len--;
    buf_put_str(out, body);
    return true;
}

static bool ends_with_lf(struct str body, struct buf *out)
{
    buf_put_str(out, body);
    buf_put_char(out, '\n');
    return true;
}

static bool ends_with_crlf(struct str body, struct buf *out)
{
    buf_put_str(out, body);
    buf_put_str(out, STR("\r\n"));
    return true;
}

static bool trimmed(struct str body, struct buf *out)
{
    while (body.len > 0 && is_blank(body.ptr[0])) {
        body.ptr++;
        body.len--;
    }
    while (body.len > 0 && is_blank(body.ptr[body.len - 1]))
        body.len--;
    buf_put_str(out, body);
    return true;
}

static bool lf_to_crlf(struct str body, struct buf *out)
{
    for (size_t i = 0; i < body.len; i++) {
        if (body.ptr[i] == '\n' && (i == 0 || body.ptr[i - 1] != '\r'))
            buf_put_char(out, '\r');
        buf_put_char(out, body.ptr[i]);
    }
    return true;
}

static bool crlf_to_lf(struct str body, struct buf *out)
{
    for (size_t i = 0; i < body.len; i++)
        if (body.ptr[i] != '\r' || i + 1 == body.len || body.ptr[i + 1] != '\n')
            buf_put_char(out, body.ptr[i]);
    return true;
}

static bool with_bom(struct str body, struct buf *out)
{
    buf_put_str(out, bom);
    buf_put_str(out, body);
    return !str_starts(body, bom);
}

static bool without_bom(struct str body, struct buf *out)
{
    if (!str_starts(body, bom))
        return false;
    buf_put(out, body.ptr + bom.len, body.len - bom.len);
    return true;
}

static bool utf8_to_latin1(struct str body, struct buf *out)
{
    for (size_t i = 0; i < body.len; i++) {
        unsigned char c = (unsigned char)body.ptr[i];

        if (c < 0x80) {
            buf_put_char(out, (char)c);
        } else if ((c == 0xc2 || c == 0xc3) && i + 1 < body.len) {
            buf_put_char(out, (char)((c & 3) << 6 | ((unsigned char)body.ptr[++i] & 0x3f)));
        } else {
            return false;
        }
    }
    return true;
}

static bool latin1_to_utf8(struct str body, struct buf *out)
{
    for (size_t i = 0; i < body.len; i++) {
        unsigned char c = (unsigned char)body.ptr[i];

        if (c >= 0x80) {
            buf_put_char(out, (char)(0xc0 | c >> 6));
            c = (unsigned char)(0x80 | (c & 0x3f));
        }
        buf_put_char(out, (char)c);
    }
    return true;
}

static bool replace(struct str body, struct str from, struct str to, struct buf *out)
{
    for (size_t i = 0; i < body.len;) {
        if (str_starts((struct str){body.ptr + i, body.len - i}, from)) {
            buf_put_str(out, to);
            i += from.len;
        } else {
            buf_put_char(out, body.ptr[i++]);
        }
    }
    return true;
}

static bool plus_to_percent(struct str body, struct buf *out)
{
    return replace(body, STR("+"), STR("%20"), out);
}

static bool percent_to_plus(struct str body, struct buf *out)
{
    return replace(body, STR("%20"), STR("+"), out);
}

static bool form_field(struct str body, struct buf *out)
{
    struct arena *arena = arena_new(4096);
    struct form form;
    struct str value;
    bool found = form_read(body, arena, &form) && form_find(&form, STR("payload"), &value) == 1 &&
                 value.len > 0;

    if (found)
        buf_put_str(out, value);
    arena_free(arena);
    return found;
}

static bool inflated(struct str body, enum inflate_format format, struct buf *out)
{
    struct buf text;
    bool well;

    buf_init(&text, INFLATED_MAX);
    well = inflate_text(body, format, &text) == INFLATE_OK;
    if (well)
        buf_put_str(out, buf_str(&text));
    buf_release(&text);
    return well;
}

static bool gunzipped(struct str body, struct buf *out)
{
    return inflated(body, INFLATE_GZIP, out);
}

static bool undeflated(struct str body, struct buf *out)
{
    return inflated(body, INFLATE_DEFLATE, out);
}

static bool none(struct str body, struct buf *out)
{
    (void)out;
    return body.len > 0;
}

static const struct {
    bool (*change)(struct str body, struct buf *out);
    const char *what;
} changes[] = {
    {ends_without, "without the line end at its end: something added one"},
    {ends_with_lf, "with a line feed at its end: something took it off"},
    {ends_with_crlf, "with a CR and a line feed at its end: something took them off"},
    {trimmed, "without the blanks around it: something added them"},
    {crlf_to_lf, "with LF where CR LF was received: something changed the line ends"},
    {lf_to_crlf, "with CR LF where LF was received: something changed the line ends"},
    {without_bom, "without the byte order mark in front of it: something added one"},
    {with_bom, "with a byte order mark in front of it: something took it off"},
    {utf8_to_latin1, "in Latin-1: something recoded it to UTF-8"},
    {latin1_to_utf8, "in UTF-8: something recoded it to Latin-1"},
    {gunzipped, "before it was compressed with gzip: the sender signs the text, or a proxy "
                "compressed it (signed_body = inflated, where the sender does so)"},
    {undeflated, "before it was compressed with deflate: the sender signs the text, or a proxy "
                 "compressed it (signed_body = inflated, where the sender does so)"},
    {plus_to_percent, "with %20 where + was received: something encoded the form anew"},
    {percent_to_plus, "with + where %20 was received: something encoded the form anew"},
    {form_field, "that stands in the form's field \"payload\": the sender signs the JSON, not the "
                 "form"},
    {none, "with nothing in it: the sender signs an empty body, or it was lost and replaced"},
};

/* ---- JSON ---- */

static const struct {
    enum rejson_blanks blanks;
    const char *what;
} layouts[] = {
    {BLANKS_AS_SENT, NULL},
    {BLANKS_NONE, "without blanks"},
    {BLANKS_SPACED, "with a blank behind each comma and colon"},
    {BLANKS_INDENT_2, "indented by 2"},
    {BLANKS_INDENT_4, "indented by 4"},
    {BLANKS_INDENT_TAB, "indented by tabs"},
};

static const struct {
    enum rejson_escapes escapes;
    const char *what;
} escapings[] = {
    {ESCAPES_AS_SENT, NULL},
    {ESCAPES_ASCII, "what is not ASCII as \\uXXXX"},
    {ESCAPES_UTF8, "UTF-8 in place of \\uXXXX"},
    {ESCAPES_SLASH, "/ as \\/"},
    {ESCAPES_NOSLASH, "\\/ as /"},
    {ESCAPES_PHP, "/ as \\/ and what is not ASCII as \\uXXXX"},
    {ESCAPES_HTML, "< > & as \\u003c \\u003e \\u0026"},
    {ESCAPES_NOHTML, "< > & in place of \\u003c \\u003e \\u0026"},
};

#define REJSONS (ARRAY_LEN(layouts) * ARRAY_LEN(escapings))

static bool is_json(struct str body)
{
    struct json_scan scan;

    return json_scan(body, NULL, JSON_DEPTH_DEFAULT, &scan, NULL);
}

static const char *rejson_what(size_t layout, size_t escaping, struct arena *arena)
{
    const char *blanks = layouts[layout].what, *escapes = escapings[escaping].what;

    return arena_printf(arena,
                        "written anew as JSON %s%s%s: something parsed it and wrote it again",
                        blanks ? blanks : "",
                        blanks && escapes ? ", with "
                        : escapes         ? "with "
                                          : "",
                        escapes ? escapes : "");
}

bool bodies_vary(size_t n, const struct request *request, struct arena *arena, struct str *body,
                 const char **what)
{
    struct str received = request->body;
    bool applies = true;
    struct buf out;

    if (n >= ARRAY_LEN(changes) + REJSONS)
        return false;
    buf_init(&out, BUF_NO_CAP);
    if (n < ARRAY_LEN(changes)) {
        applies = changes[n].change(received, &out);
        *what = changes[n].what;
    } else {
        size_t layout = (n - ARRAY_LEN(changes)) / ARRAY_LEN(escapings);
        size_t escaping = (n - ARRAY_LEN(changes)) % ARRAY_LEN(escapings);

        applies = is_json(received);
        if (applies)
            rejson(received, layouts[layout].blanks, escapings[escaping].escapes, &out);
        *what = rejson_what(layout, escaping, arena);
    }
    *body = applies && !str_equal(buf_str(&out), received) ? arena_copy(arena, buf_str(&out))
                                                           : STR_NONE;
    buf_release(&out);
    return true;
}
