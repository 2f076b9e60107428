/* The `signature =` rule: where the offered signatures are and how they are written. */
#include <string.h>

#include "base/codec.h"
#include "verify/signed.h"

/* What hexadecimal and base64 are written with. */
#define ENCODED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="

static bool take_prefix(struct str *word, const char *prefix)
{
    size_t len = strlen(prefix);

    if (!str_starts(*word, str_from(prefix)) || word->len == len)
        return false;
    word->ptr += len;
    word->len -= len;
    return true;
}

int scheme_pointer(struct signed_scheme *scheme, struct str pointer, size_t *number,
                   struct err *err)
{
    struct json_paths *paths = json_paths_new(&pointer, 1, err);

    if (!paths)
        return -1;
    json_paths_free(paths);
    for (size_t i = 0; i < scheme->pointer_count; i++) {
        if (str_equal(scheme->pointers[i], pointer)) {
            *number = i;
            return 0;
        }
    }
    if (scheme->pointer_count == JSON_PATHS_MAX)
        return err_set(err, ERR_INPUT, "names more than %d members of the body", JSON_PATHS_MAX);
    *number = scheme->pointer_count;
    scheme->pointers[scheme->pointer_count++] = arena_copy(scheme->arena, pointer);
    return 0;
}

int place_parse(struct signed_scheme *scheme, struct str word, struct place *place, struct err *err)
{
    struct str name = word;

    if (take_prefix(&name, "header:")) {
        bool family =
            name.len > 2 && str_equal((struct str){name.ptr + name.len - 2, 2}, STR("-*"));

        if (family)
            name.len--;
        if (!request_names_header(name))
            return err_set(err, ERR_INPUT, "\"%.*s\" is no header's name", STR_ARG(name));
        *place = (struct place){family ? PLACE_HEADER_FAMILY : PLACE_HEADER,
                                arena_copy(scheme->arena, name), 0};
        return 0;
    }
    if (take_prefix(&name, "query:")) {
        *place = (struct place){PLACE_QUERY, arena_copy(scheme->arena, name), 0};
        return 0;
    }
    if (take_prefix(&name, "json:")) {
        *place = (struct place){PLACE_JSON, STR_NONE, 0};
        return scheme_pointer(scheme, name, &place->pointer, err);
    }
    return err_set(
        err, ERR_INPUT,
        "\"%.*s\" is no place; write header:NAME, header:NAME-*, query:NAME or json:/POINTER",
        STR_ARG(word));
}

bool place_same(const struct place *a, const struct place *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case PLACE_HEADER:
    case PLACE_HEADER_FAMILY:
        return str_equal_nocase(a->name, b->name);
    case PLACE_QUERY:
        return str_equal(a->name, b->name);
    case PLACE_JSON:
        break;
    }
    return a->pointer == b->pointer;
}

static int split_parse(struct str word, char *split, struct err *err)
{
    static const struct {
        const char *name;
        char c;
    } names[] = {{"comma", ','}, {"space", ' '}, {"semicolon", ';'}};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(word, names[i].name)) {
            *split = names[i].c;
            return 0;
        }
    }
    if (word.len != 1)
        return err_set(err, ERR_INPUT,
                       "split wants one character, or comma, space or semicolon; not \"%.*s\"",
                       STR_ARG(word));
    if (memchr(ENCODED, word.ptr[0], sizeof(ENCODED) - 1))
        return err_set(err, ERR_INPUT, "cannot split at \"%c\", with which signatures are written",
                       word.ptr[0]);
    *split = word.ptr[0];
    return 0;
}

static bool encoding_parse(struct str word, enum encoding *encoding)
{
    static const char *const names[] = {
        [ENCODING_HEX] = "hex", [ENCODING_BASE64] = "base64", [ENCODING_BASE64URL] = "base64url"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(word, names[i])) {
            *encoding = (enum encoding)i;
            return true;
        }
    }
    return false;
}

/* One word behind the place; what it takes is taken from `rest`. */
static int option_parse(struct signed_scheme *scheme, struct signature_rule *rule, struct str word,
                        struct str *rest, struct err *err)
{
    if (str_is(word, "split"))
        return split_parse(scheme_word(rest), &rule->split, err);
    if (str_is(word, "prefix")) {
        rule->prefix = arena_copy(scheme->arena, scheme_word(rest));
        return rule->prefix.ptr ? 0 : err_set(err, ERR_INPUT, "prefix wants a text");
    }
    if (str_is(word, "repeat")) {
        rule->repeat = true;
        if (!str_is(scheme_word(rest), "any"))
            return err_set(err, ERR_INPUT, "repeat is written \"repeat any\"");
        return rule->place.kind == PLACE_HEADER
                   ? 0
                   : err_set(err, ERR_INPUT, "repeat any is for header:NAME, which may come twice");
    }
    return err_set(err, ERR_INPUT,
                   "cannot use \"%.*s\"; after the place come split CH, prefix TEXT, repeat any, "
                   "and hex, base64 or base64url",
                   STR_ARG(word));
}

/* One place and how it is written, up to a "|" or the end; *more: a "|" was there. */
static int rule_parse(struct signed_scheme *scheme, struct signature_rule *rule, struct str *rest,
                      bool *more, struct err *err)
{
    struct str word = scheme_word(rest);
    bool encoded = false;

    *more = false;
    if (place_parse(scheme, word, &rule->place, err) < 0)
        return -1;
    while (!*more && (word = scheme_word(rest)).ptr) {
        if (str_is(word, "|"))
            *more = true;
        else if (encoding_parse(word, &rule->encoding))
            encoded = true;
        else if (option_parse(scheme, rule, word, rest, err) < 0)
            return -1;
    }
    if (!encoded)
        return err_set(err, ERR_INPUT,
                       "does not say how the signature is written; add hex, base64 or base64url");
    return 0;
}

int signature_parse(struct signed_scheme *scheme, struct str text, struct err *err)
{
    struct str rest = text;
    bool more = true;

    while (more) {
        if (scheme->signature_count == SIGNATURE_PLACES_MAX)
            return err_set(err, ERR_INPUT, "has more than %d places", SIGNATURE_PLACES_MAX);
        if (rule_parse(scheme, &scheme->signatures[scheme->signature_count], &rest, &more, err) < 0)
            return -1;
        scheme->signature_count++;
    }
    return 0;
}

bool signature_items(const struct signature_rule *rule, struct str value, signature_visitor *visit,
                     void *argument)
{
    while (value.ptr) {
        const char *end = rule->split ? memchr(value.ptr, rule->split, value.len) : NULL;
        struct str item = {value.ptr, end ? (size_t)(end - value.ptr) : value.len};

        if (visit(argument, rule, str_trim(item)))
            return true;
        if (!end)
            break;
        value.len -= item.len + 1;
        value.ptr = end + 1;
    }
    return false;
}

size_t signature_decode(const struct signature_rule *rule, struct str item, unsigned char *out,
                        size_t max)
{
    ssize_t len;

    if (rule->prefix.ptr && !str_starts(item, rule->prefix))
        return 0;
    item.ptr += rule->prefix.len;
    item.len -= rule->prefix.len;
    if (rule->encoding == ENCODING_HEX)
        len = codec_hex_decode(item, out, max);
    else
        len = codec_base64_decode(item,
                                  rule->encoding == ENCODING_BASE64URL
                                      ? BASE64_URL | BASE64_PADDING_OPTIONAL
                                      : BASE64_STRICT,
                                  out, max);
    return len < 0 ? 0 : (size_t)len;
}
