/* The sources grammar, and the rule that makes any value an identity. */
#include "provider/source.h"

#include <stdio.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "provider/cloudevent.h"

#define TERMS_MAX 12

enum term_kind {
    TERM_BODY,
    TERM_MEMBER,
    TERM_HEADER,
    TERM_QUERY,
    TERM_ATTRIBUTE,
    TERM_SHA256,
    TERM_RECEIVED,
    TERM_LITERAL
};

struct term {
    enum term_kind kind;
    enum scope_level level; /* TERM_BODY, TERM_MEMBER, TERM_ATTRIBUTE: of the pointer */
    size_t pointer;         /* likewise: its place in the list */
    struct str text;
    bool digested; /* TERM_HEADER: its digest is the value */
    bool joined;   /* continues the alternative of the term before */
};

struct source {
    struct term terms[TERMS_MAX];
    size_t count;
};

/* ---- compiling ---- */

static void skip_blanks(struct str *rest)
{
    *rest = str_trim(*rest);
}

static bool take(struct str *rest, const char *text)
{
    struct str wanted = str_from(text);

    if (!str_starts(*rest, wanted))
        return false;
    rest->ptr += wanted.len;
    rest->len -= wanted.len;
    return true;
}

/* Up to a blank; pointers and names hold none. */
static struct str take_word(struct str *rest)
{
    struct str word = {rest->ptr, 0};

    while (word.len < rest->len && rest->ptr[word.len] != ' ' && rest->ptr[word.len] != '\t')
        word.len++;
    rest->ptr += word.len;
    rest->len -= word.len;
    return word;
}

/* "/id|sha256" is a pointer that no document has; with blanks it would be what was meant. */
static int refuse_run_together(struct str word, struct err *err)
{
    static const char *const starts[] = {
        "body:", "request:", "member:", "header:", "query:", "ce:", "sha256", "received", "'"};

    for (size_t i = 0; i < word.len; i++) {
        struct str behind = {word.ptr + i + 1, word.len - i - 1};

        if (word.ptr[i] != '|' && word.ptr[i] != '+')
            continue;
        for (size_t j = 0; j < ARRAY_LEN(starts); j++)
            if (str_starts(behind, str_from(starts[j])))
                return err_set(err, ERR_INPUT, "\"%.*s\" wants blanks around its \"%c\"",
                               STR_ARG(word), word.ptr[i]);
    }
    return 0;
}

static int literal_parse(struct str *rest, struct term *term, struct arena *arena, struct err *err)
{
    const char *end = memchr(rest->ptr, '\'', rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : 0;

    if (!end || len == 0)
        return err_set(err, ERR_INPUT, "a literal is written between two ' and is not empty");
    if (!utf8_valid((struct str){rest->ptr, len}) || memchr(rest->ptr, '\0', len))
        return err_set(err, ERR_INPUT, "a literal is UTF-8 text");
    term->kind = TERM_LITERAL;
    term->text = arena_copy(arena, (struct str){rest->ptr, len});
    rest->ptr += len + 1;
    rest->len -= len + 1;
    return 0;
}

static int named_parse(struct str *rest, enum term_kind kind, struct term *term,
                       struct arena *arena, struct err *err)
{
    struct str word = take_word(rest);

    if (word.len == 0)
        return err_set(err, ERR_INPUT, "%s wants a name",
                       kind == TERM_HEADER ? "header:" : "query:");
    if (refuse_run_together(word, err) < 0)
        return -1;
    if (kind == TERM_HEADER && !request_names_header(word))
        return err_set(err, ERR_INPUT, "\"%.*s\" is no header's name", STR_ARG(word));
    term->kind = kind;
    term->text = arena_copy(arena, word);
    return 0;
}

static int pointer_parse(struct str *rest, bool absolute, struct term *term, struct scope *scope,
                         struct arena *arena, struct err *err)
{
    struct str word = take_word(rest);
    int rc;

    if (refuse_run_together(word, err) < 0)
        return -1;
    term->kind = TERM_BODY;
    term->level = SCOPE_EVENT;
    rc = absolute ? scope_add_absolute(scope, word, arena, &term->level, &term->pointer, err)
                  : scope_add(scope, SCOPE_EVENT, word, arena, &term->pointer, err);
    return rc < 0 ? err_prefix(err, "%s:%.*s", absolute ? "request" : "body", STR_ARG(word)) : 0;
}

/* The name is the pointer's last token. */
static int member_parse(struct str *rest, struct term *term, struct scope *scope,
                        struct arena *arena, struct err *err)
{
    struct str word = take_word(rest);
    size_t start = word.len;

    if (refuse_run_together(word, err) < 0)
        return -1;
    while (start > 0 && word.ptr[start - 1] != '/')
        start--;
    if (start == 0 || start == word.len)
        return err_set(err, ERR_INPUT, "\"member:%.*s\" names no member; write member:/NAME",
                       STR_ARG(word));
    term->kind = TERM_MEMBER;
    term->level = SCOPE_EVENT;
    term->text = arena_copy(arena, (struct str){word.ptr + start, word.len - start});
    return scope_add(scope, SCOPE_EVENT, word, arena, &term->pointer, err) < 0
               ? err_prefix(err, "member:%.*s", STR_ARG(word))
               : 0;
}

static int attribute_parse(struct str *rest, struct term *term, struct scope *scope,
                           struct arena *arena, struct err *err)
{
    struct str word = take_word(rest);

    if (refuse_run_together(word, err) < 0)
        return -1;
    if (!cloudevent_names_attribute(word))
        return err_set(err, ERR_INPUT,
                       "\"ce:%.*s\" is no attribute; its name has lower-case letters and digits",
                       STR_ARG(word));
    term->kind = TERM_ATTRIBUTE;
    term->level = SCOPE_EVENT;
    term->text = arena_copy(arena, word);
    return scope_add(scope, SCOPE_EVENT, str_from(arena_printf(arena, "/%.*s", STR_ARG(word))),
                     arena, &term->pointer, err);
}

static int term_parse(struct str *rest, struct term *term, struct scope *scope, struct arena *arena,
                      struct err *err)
{
    struct str word;

    if (take(rest, "'"))
        return literal_parse(rest, term, arena, err);
    if (take(rest, "header:"))
        return named_parse(rest, TERM_HEADER, term, arena, err);
    if (take(rest, "sha256:header:")) {
        term->digested = true;
        return named_parse(rest, TERM_HEADER, term, arena, err);
    }
    if (take(rest, "query:"))
        return named_parse(rest, TERM_QUERY, term, arena, err);
    if (take(rest, "body:"))
        return pointer_parse(rest, false, term, scope, arena, err);
    if (take(rest, "member:"))
        return member_parse(rest, term, scope, arena, err);
    if (take(rest, "request:"))
        return pointer_parse(rest, true, term, scope, arena, err);
    if (take(rest, "ce:"))
        return attribute_parse(rest, term, scope, arena, err);
    word = take_word(rest);
    if (str_is(word, "sha256")) {
        term->kind = TERM_SHA256;
        return 0;
    }
    if (str_is(word, "received")) {
        term->kind = TERM_RECEIVED;
        return 0;
    }
    return err_set(
        err, ERR_INPUT,
        "\"%.*s\" is no source; write body:/POINTER, header:NAME, query:NAME, sha256 or 'literal'",
        STR_ARG(word));
}

const struct source *source_new(struct str text, struct scope *scope, struct arena *arena,
                                struct err *err)
{
    struct source *source = arena_alloc(arena, sizeof(*source));
    struct str rest = text;
    bool joined = false;

    for (;;) {
        struct term *term = &source->terms[source->count];

        if (source->count == TERMS_MAX) {
            err_set(err, ERR_INPUT, "has more than %d parts", TERMS_MAX);
            return NULL;
        }
        skip_blanks(&rest);
        if (term_parse(&rest, term, scope, arena, err) < 0)
            return NULL;
        term->joined = joined;
        source->count++;
        skip_blanks(&rest);
        if (rest.len == 0)
            return source;
        joined = take(&rest, "+");
        if (!joined && !take(&rest, "|")) {
            err_set(err, ERR_INPUT,
                    "cannot read \"%.*s\"; parts are joined with \" + \", alternatives stand after "
                    "\" | \"",
                    STR_ARG(rest));
            return NULL;
        }
    }
}

static bool reads_json(const struct term *term)
{
    return term->kind == TERM_BODY || term->kind == TERM_MEMBER;
}

static bool reads_event(const struct term *term)
{
    return term->kind == TERM_SHA256 || term->kind == TERM_ATTRIBUTE || term->kind == TERM_MEMBER ||
           (term->kind == TERM_BODY && term->level == SCOPE_EVENT);
}

/* Whether every alternative has a part of that kind. */
static bool always(const struct source *source, bool (*is)(const struct term *term))
{
    bool has = true;

    for (size_t i = 0; i < source->count; i++) {
        if (!source->terms[i].joined && !has)
            return false;
        has = is(&source->terms[i]) || (source->terms[i].joined && has);
    }
    return has;
}

bool source_needs_body(const struct source *source)
{
    return always(source, reads_json);
}

bool source_tells_events_apart(const struct source *source)
{
    return always(source, reads_event);
}

bool source_reads_attributes(const struct source *source)
{
    for (size_t i = 0; source && i < source->count; i++)
        if (source->terms[i].kind == TERM_ATTRIBUTE)
            return true;
    return false;
}

bool source_header_name(const struct source *source, size_t i, struct str *name)
{
    for (size_t term = 0; source && term < source->count; term++) {
        if (source->terms[term].kind != TERM_HEADER || i-- > 0)
            continue;
        *name = source->terms[term].text;
        return true;
    }
    return false;
}

/* ---- reading ---- */

/* `mark` and the digest in hexadecimal. */
static struct str marked_digest(struct str mark, struct str bytes, struct arena *arena)
{
    unsigned char sha256[32];
    char *text = arena_bytes(arena, mark.len + CODEC_HEX_SIZE(32));

    digest_sha256(bytes, sha256);
    memcpy(text, mark.ptr, mark.len);
    codec_hex_encode(sha256, sizeof(sha256), text + mark.len);
    return (struct str){text, mark.len + CODEC_HEX_SIZE(32) - 1};
}

static struct str digest_text(struct str bytes, struct arena *arena)
{
    return marked_digest(STR("sha256:"), bytes, arena);
}

/* What cannot be stored as text becomes its digest. */
static struct str as_text(struct str bytes, struct arena *arena)
{
    if (memchr(bytes.ptr, '\0', bytes.len) || !utf8_valid(bytes))
        return digest_text(bytes, arena);
    return bytes;
}

static struct str json_value_text(const struct json_value *value, struct arena *arena)
{
    struct json_text text;

    switch (value->kind) {
    case JSON_KIND_NUMBER:
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        return value->text;
    case JSON_KIND_STRING:
        text = json_string_text(value->text, arena);
        return text.nul || text.lone_surrogate ? digest_text(text.bytes, arena) : text.bytes;
    case JSON_KIND_ABSENT:
    case JSON_KIND_NULL:
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        break;
    }
    return STR_NONE;
}

static struct str query_text(const struct request *request, struct str name, struct arena *arena)
{
    struct str raw;
    ssize_t len;
    char *text;

    if (request_query(request, name, &raw) != 1)
        return STR_NONE;
    text = arena_bytes(arena, raw.len + 1);
    len = codec_percent_decode(raw, text);
    return len < 0 ? STR_NONE : as_text((struct str){text, (size_t)len}, arena);
}

static struct str number_text(int64_t number, struct arena *arena)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)number);
    return arena_copy(arena, str_from(text));
}

static struct str member_text(const struct term *term, const struct source_input *input)
{
    const struct json_value *values = input->values[term->level];

    return values ? json_value_text(&values[term->pointer], input->arena) : STR_NONE;
}

static struct str header_text(const struct term *term, const struct source_input *input)
{
    struct str value = STR_NONE;

    if (request_header(input->request, term->text, &value) != 1 || value.len == 0)
        return STR_NONE;
    return term->digested ? marked_digest(STR(""), value, input->arena)
                          : as_text(value, input->arena);
}

static struct str member_name(const struct term *term, const struct source_input *input)
{
    const struct json_value *values = input->values[term->level];
    enum json_kind kind = values ? values[term->pointer].kind : JSON_KIND_ABSENT;

    return kind == JSON_KIND_ABSENT || kind == JSON_KIND_NULL ? STR_NONE : term->text;
}

/* Absent: ptr NULL or no bytes. */
static struct str term_value(const struct term *term, const struct source_input *input)
{
    switch (term->kind) {
    case TERM_BODY:
        return member_text(term, input);
    case TERM_MEMBER:
        return member_name(term, input);
    case TERM_ATTRIBUTE:
        return input->attributes_in_headers
                   ? cloudevent_header(input->request, term->text, input->arena)
                   : member_text(term, input);
    case TERM_HEADER:
        return header_text(term, input);
    case TERM_QUERY:
        return query_text(input->request, term->text, input->arena);
    case TERM_SHA256:
        return input->body_sha256_hex;
    case TERM_RECEIVED:
        return number_text(input->request->received_us, input->arena);
    case TERM_LITERAL:
        return term->text;
    }
    return STR_NONE;
}

static size_t escaped_len(struct str part)
{
    size_t len = part.len;

    for (size_t i = 0; i < part.len; i++)
        len += part.ptr[i] == ':' || part.ptr[i] == '\\';
    return len;
}

static char *put_escaped(char *out, struct str part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] == ':' || part.ptr[i] == '\\')
            *out++ = '\\';
        *out++ = part.ptr[i];
    }
    return out;
}

static struct str join(const struct str *parts, size_t count, struct arena *arena)
{
    size_t len = count - 1;
    char *text, *out;

    for (size_t i = 0; i < count; i++)
        len += escaped_len(parts[i]);
    text = out = arena_bytes(arena, len);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            *out++ = ':';
        out = put_escaped(out, parts[i]);
    }
    return (struct str){text, len};
}

struct str source_value(const struct source *source, const struct source_input *input)
{
    for (size_t first = 0, next; first < source->count; first = next) {
        struct str parts[TERMS_MAX], value;
        bool exists = true;

        for (next = first; next < source->count && (next == first || source->terms[next].joined);
             next++) {
            parts[next - first] = term_value(&source->terms[next], input);
            exists = exists && parts[next - first].ptr && parts[next - first].len > 0;
        }
        if (!exists)
            continue;
        value = next - first == 1 ? parts[0] : join(parts, next - first, input->arena);
        return value.len > SOURCE_VALUE_MAX ? digest_text(value, input->arena) : value;
    }
    return STR_NONE;
}
