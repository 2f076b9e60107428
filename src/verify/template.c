/* The `signed =` template: what the sender's digest is over. Parts are fed one by one; the body is
 * never copied. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/codec.h"
#include "verify/signed.h"

static const struct {
    const char *name; /* a name that ends in ':' takes what follows */
    enum part_kind kind;
} part_names[] = {
    {"body", PART_BODY},
    {"ts", PART_TS},
    {"method", PART_METHOD},
    {"url", PART_URL},
    {"url:decoded", PART_URL_DECODED},
    {"header:", PART_HEADER},
    {"query:", PART_QUERY},
    {"json:", PART_JSON},
    {"var:", PART_LITERAL},
    {"secret", PART_SECRET},
    {"sha256hex:body", PART_SHA256HEX},
    {"crc32:body", PART_CRC32},
};

static int add_part(struct template *template, struct part part, struct err *err)
{
    if (template->count == PARTS_MAX)
        return err_set(err, ERR_INPUT, "has more than %d parts", PARTS_MAX);
    template->parts[template->count++] = part;
    return 0;
}

/* ---- vars ---- */

static bool var_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                    name.ptr[i]) ||
            !name.ptr[i])
            return false;
    return name.len > 0;
}

static struct var *var_find(struct signed_scheme *scheme, struct str name)
{
    for (size_t i = 0; i < scheme->var_count; i++)
        if (str_equal(scheme->vars[i].name, name))
            return &scheme->vars[i];
    return NULL;
}

static int var_parse(struct signed_scheme *scheme, struct str text, struct err *err)
{
    const char *sign = text.len ? memchr(text.ptr, '=', text.len) : NULL;
    struct str name = {text.ptr, sign ? (size_t)(sign - text.ptr) : 0}, value = STR_NONE;

    if (sign)
        value = str_trim((struct str){sign + 1, text.len - name.len - 1});
    name = str_trim(name);
    if (!var_name(name) || value.len == 0)
        return err_set(err, ERR_INPUT, "cannot use \"%.*s\"; write NAME=VALUE, NAME=VALUE",
                       STR_ARG(text));
    if (var_find(scheme, name))
        return err_set(err, ERR_INPUT, "names \"%.*s\" twice", STR_ARG(name));
    if (scheme->var_count == VARS_MAX)
        return err_set(err, ERR_INPUT, "has more than %d names", VARS_MAX);
    scheme->vars[scheme->var_count++] =
        (struct var){arena_copy(scheme->arena, name), arena_copy(scheme->arena, value), false};
    return 0;
}

int vars_parse(struct signed_scheme *scheme, struct str text, struct err *err)
{
    for (;;) {
        const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
        size_t len = comma ? (size_t)(comma - text.ptr) : text.len;

        if (var_parse(scheme, str_trim((struct str){text.ptr, len}), err) < 0)
            return -1;
        if (!comma)
            return 0;
        text = (struct str){comma + 1, text.len - len - 1};
    }
}

/* A var is the text that it stands for. */
static int use_var(struct signed_scheme *scheme, struct part *part, struct err *err)
{
    struct var *var = var_find(scheme, part->text);

    if (!var)
        return err_set(err, ERR_INPUT,
                       "uses {var:%.*s}, which is not there; write vars = %.*s=VALUE",
                       STR_ARG(part->text), STR_ARG(part->text));
    var->used = true;
    part->text = var->value;
    return 0;
}

/* ---- the template ---- */

/* What stands between braces. */
static int name_parse(struct signed_scheme *scheme, struct str name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(part_names); i++) {
        size_t len = strlen(part_names[i].name);
        bool takes = part_names[i].name[len - 1] == ':';
        struct part part = {part_names[i].kind, STR_NONE, 0};

        if (takes ? !str_starts(name, str_from(part_names[i].name)) || name.len == len
                  : !str_is(name, part_names[i].name))
            continue;
        if (takes)
            part.text = arena_copy(scheme->arena, (struct str){name.ptr + len, name.len - len});
        if (part.kind == PART_HEADER && !request_names_header(part.text))
            return err_set(err, ERR_INPUT, "\"%.*s\" is no header's name", STR_ARG(part.text));
        if (part.kind == PART_JSON && scheme_pointer(scheme, part.text, &part.pointer, err) < 0)
            return -1;
        if (part.kind == PART_LITERAL && use_var(scheme, &part, err) < 0)
            return -1;
        return add_part(&scheme->template, part, err);
    }
    return err_set(err, ERR_INPUT,
                   "cannot use {%.*s}; there are {body} {ts} {method} {url} {url:decoded} "
                   "{header:NAME} {query:NAME} {json:/POINTER} {var:NAME} {secret} "
                   "{sha256hex:body} {crc32:body}",
                   STR_ARG(name));
}

int template_parse(struct signed_scheme *scheme, struct str text, struct err *err)
{
    while (text.len > 0) {
        const char *open = memchr(text.ptr, '{', text.len), *close;
        size_t literal = open ? (size_t)(open - text.ptr) : text.len;

        if (literal > 0 &&
            add_part(&scheme->template,
                     (struct part){PART_LITERAL,
                                   arena_copy(scheme->arena, (struct str){text.ptr, literal}), 0},
                     err) < 0)
            return -1;
        if (!open)
            return 0;
        close = memchr(open, '}', text.len - literal);
        if (!close)
            return err_set(err, ERR_INPUT, "has a { without a }");
        if (name_parse(scheme, (struct str){open + 1, (size_t)(close - open - 1)}, err) < 0)
            return -1;
        text.len -= (size_t)(close + 1 - text.ptr);
        text.ptr = close + 1;
    }
    return 0;
}

bool template_has(const struct template *template, enum part_kind kind)
{
    for (size_t i = 0; i < template->count; i++)
        if (template->parts[i].kind == kind)
            return true;
    return false;
}

bool template_has_url(const struct template *template)
{
    return template_has(template, PART_URL) || template_has(template, PART_URL_DECODED);
}

/* A CRC is no cover: another body with the same one is made in no time. */
bool template_covers_body(const struct template *template)
{
    return template_has(template, PART_BODY) || template_has(template, PART_SHA256HEX);
}

bool template_varies(const struct template *template)
{
    return template_covers_body(template) || template_has(template, PART_TS) ||
           template_has(template, PART_HEADER) || template_has(template, PART_QUERY) ||
           template_has(template, PART_JSON) || template_has(template, PART_CRC32);
}

bool template_has_pointer(const struct template *template, size_t pointer)
{
    for (size_t i = 0; i < template->count; i++)
        if (template->parts[i].kind == PART_JSON && template->parts[i].pointer == pointer)
            return true;
    return false;
}

bool template_names(const struct template *template, enum part_kind kind, struct str name)
{
    for (size_t i = 0; i < template->count; i++) {
        const struct part *part = &template->parts[i];

        if (part->kind == kind && (kind == PART_HEADER ? str_equal_nocase(part->text, name)
                                                       : str_equal(part->text, name)))
            return true;
    }
    return false;
}

/* ---- feeding ---- */

static void put(struct sink sink, struct str bytes)
{
    if (sink.digester)
        digester_add(sink.digester, bytes);
    else
        buf_put_str(sink.text, bytes);
}

bool material_json(struct material *material, size_t pointer, struct str *text)
{
    const struct json_value *value = &material->values[pointer];
    struct json_text content;

    switch (value->kind) {
    case JSON_KIND_NUMBER:
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        *text = value->text;
        return true;
    case JSON_KIND_STRING:
        if (!material->arena)
            material->arena = arena_new(4096);
        content = json_string_text(value->text, material->arena);
        *text = content.bytes;
        return !content.lone_surrogate;
    case JSON_KIND_ABSENT:
    case JSON_KIND_NULL:
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        break;
    }
    return false;
}

static void feed_url(const struct signed_scheme *scheme, const struct request *request,
                     struct sink sink)
{
    put(sink, scheme->public_url);
    if (request->query.ptr) {
        put(sink, STR("?"));
        put(sink, request->query);
    }
}

/* HubSpot signs the URL with these escapes decoded, and no others
 * (developers.hubspot.com/docs/guides/apps/authentication/validating-requests). */
static char decoded_escape(struct str text)
{
    static const char decoded[] = ":/?@!$'()*,;";
    unsigned char byte;

    if (text.len < 3 || text.ptr[0] != '%' ||
        codec_hex_decode((struct str){text.ptr + 1, 2}, &byte, 1) != 1)
        return '\0';
    return byte && strchr(decoded, byte) ? (char)byte : '\0';
}

static void put_decoded(struct sink sink, struct str text)
{
    size_t start = 0, at = 0;

    while (at < text.len) {
        char c = decoded_escape((struct str){text.ptr + at, text.len - at});

        if (!c) {
            at++;
            continue;
        }
        put(sink, (struct str){text.ptr + start, at - start});
        put(sink, (struct str){&c, 1});
        at += 3;
        start = at;
    }
    put(sink, (struct str){text.ptr + start, at - start});
}

static void feed_url_decoded(const struct signed_scheme *scheme, const struct request *request,
                             struct sink sink)
{
    put_decoded(sink, scheme->public_url);
    if (request->query.ptr) {
        put(sink, STR("?"));
        put_decoded(sink, request->query);
    }
}

static enum verify_result feed_header(const struct request *request, struct str name,
                                      struct sink sink)
{
    struct str value;
    size_t found = request_header(request, name, &value);

    if (found == 1)
        put(sink, value);
    return found == 1 ? VERIFY_VALID : found == 0 ? VERIFY_MISSING : VERIFY_BAD;
}

static enum verify_result feed_query(const struct request *request, struct str name,
                                     struct sink sink)
{
    struct str value;
    size_t found = request_query(request, name, &value);

    if (found == 1)
        put(sink, value);
    return found == 1 ? VERIFY_VALID : found == 0 ? VERIFY_MISSING : VERIFY_BAD;
}

static void feed_body_digest(const struct request *request, enum part_kind kind, struct sink sink)
{
    unsigned char sha256[32];
    char text[CODEC_HEX_SIZE(32)];

    if (kind == PART_SHA256HEX) {
        digest_sha256(request->body, sha256);
        codec_hex_encode(sha256, sizeof(sha256), text);
    } else {
        snprintf(text, sizeof(text), "%lu",
                 crc32_z(0, (const unsigned char *)request->body.ptr, request->body.len));
    }
    put(sink, str_from(text));
}

static enum verify_result feed_part(const struct signed_scheme *scheme, struct material *material,
                                    const struct part *part, struct str secret, struct sink sink)
{
    struct str text;

    switch (part->kind) {
    case PART_LITERAL:
        put(sink, part->text);
        return VERIFY_VALID;
    case PART_BODY:
        put(sink, material->request->body);
        return VERIFY_VALID;
    case PART_TS:
        put(sink, material->timestamp);
        return VERIFY_VALID;
    case PART_METHOD:
        put(sink, material->request->method);
        return VERIFY_VALID;
    case PART_URL:
        feed_url(scheme, material->request, sink);
        return VERIFY_VALID;
    case PART_URL_DECODED:
        feed_url_decoded(scheme, material->request, sink);
        return VERIFY_VALID;
    case PART_HEADER:
        return feed_header(material->request, part->text, sink);
    case PART_QUERY:
        return feed_query(material->request, part->text, sink);
    case PART_JSON:
        if (!material_json(material, part->pointer, &text))
            return VERIFY_BAD;
        put(sink, text);
        return VERIFY_VALID;
    case PART_SECRET:
        put(sink, secret);
        return VERIFY_VALID;
    case PART_SHA256HEX:
    case PART_CRC32:
        feed_body_digest(material->request, part->kind, sink);
        return VERIFY_VALID;
    }
    return VERIFY_BAD;
}

enum verify_result template_feed(const struct signed_scheme *scheme, struct material *material,
                                 struct str secret, struct sink sink)
{
    for (size_t i = 0; i < scheme->template.count; i++) {
        enum verify_result result =
            feed_part(scheme, material, &scheme->template.parts[i], secret, sink);

        if (result != VERIFY_VALID)
            return result;
    }
    return VERIFY_VALID;
}
