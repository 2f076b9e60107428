/* Reading whole credentials. */
#include "verify/credential.h"

#include "base/codec.h"
#include "verify/scheme.h"

static bool take(struct str *word, struct str prefix)
{
    if (!str_starts(*word, prefix) || word->len == prefix.len)
        return false;
    word->ptr += prefix.len;
    word->len -= prefix.len;
    return true;
}

static int place_name(struct credential_place *place, struct str word, struct arena *arena,
                      struct err *err)
{
    struct str name = word;

    place->query = take(&name, STR("query:"));
    if (!place->query && !take(&name, STR("header:")))
        return err_set(err, ERR_INPUT, "\"%.*s\" is no place; write header:NAME or query:NAME",
                       STR_ARG(word));
    if (!place->query && !request_names_header(name))
        return err_set(err, ERR_INPUT, "\"%.*s\" is no header's name", STR_ARG(name));
    place->name = arena_copy(arena, name);
    return 0;
}

int credential_parse(struct credential_rule *rule, struct str text, struct arena *arena,
                     struct err *err)
{
    struct str rest = text, word;

    do {
        struct credential_place *place = &rule->places[rule->count];

        if (rule->count == CREDENTIAL_PLACES_MAX)
            return err_set(err, ERR_INPUT, "has more than %d places", CREDENTIAL_PLACES_MAX);
        if (place_name(place, scheme_word(&rest), arena, err) < 0)
            return -1;
        rule->count++;
        word = scheme_word(&rest);
        if (word.ptr && str_is(word, "prefix")) {
            place->prefix = arena_copy(arena, scheme_word(&rest));
            if (!place->prefix.ptr)
                return err_set(err, ERR_INPUT, "prefix wants a word, such as \"prefix Bearer\"");
            word = scheme_word(&rest);
        }
        if (word.ptr && !str_is(word, "|"))
            return err_set(err, ERR_INPUT,
                           "cannot use \"%.*s\"; after a place come prefix WORD, or | and one more "
                           "place",
                           STR_ARG(word));
    } while (word.ptr);
    return 0;
}

static bool take_prefix(struct str *text, struct str prefix)
{
    if (text->len < prefix.len || !str_equal_nocase((struct str){text->ptr, prefix.len}, prefix))
        return false;
    *text = str_trim((struct str){text->ptr + prefix.len, text->len - prefix.len});
    return true;
}

/* A parameter as it was meant, not as it was sent. */
static bool unescape(struct str *text, struct arena *arena)
{
    char *plain = arena_bytes(arena, text->len + 1);
    ssize_t len = codec_percent_decode(*text, plain);

    *text = (struct str){plain, len < 0 ? 0 : (size_t)len};
    return len >= 0;
}

enum verify_result credential_read(const struct credential_place *place,
                                   const struct request *request, struct arena *arena,
                                   struct str *credential)
{
    struct str text;
    size_t found = place->query ? request_query(request, place->name, &text)
                                : request_header(request, place->name, &text);

    if (found != 1)
        return found == 0 ? VERIFY_MISSING : VERIFY_BAD;
    if (place->query && !unescape(&text, arena))
        return VERIFY_BAD;
    if (place->prefix.ptr && !take_prefix(&text, place->prefix))
        return VERIFY_BAD;
    if (text.len == 0)
        return VERIFY_BAD;
    *credential = text;
    return VERIFY_VALID;
}

static void explain_place(const struct credential_place *place, const struct request *request,
                          struct arena *arena, const struct scheme_teller *teller)
{
    const char *kind = place->query ? "parameter" : "header";
    struct str text;
    size_t found = place->query ? request_query(request, place->name, &text)
                                : request_header(request, place->name, &text);

    if (found == 0)
        scheme_tell(teller, "signature", "%s %.*s: not there", kind, STR_ARG(place->name));
    else if (found > 1)
        scheme_tell(teller, "signature", "%s %.*s: comes %zu times, and may come once", kind,
                    STR_ARG(place->name), found);
    else if (place->query && !unescape(&text, arena))
        scheme_tell(teller, "signature", "%s %.*s: has a broken escape", kind,
                    STR_ARG(place->name));
    else if (place->prefix.ptr && !take_prefix(&text, place->prefix))
        scheme_tell(teller, "signature", "%s %.*s: there, but it does not begin with %.*s", kind,
                    STR_ARG(place->name), STR_ARG(place->prefix));
    else
        scheme_tell(teller, "signature", "%s %.*s: there, %zu characters", kind,
                    STR_ARG(place->name), text.len);
}

void credential_explain(const struct credential_rule *rule, const struct request *request,
                        const struct scheme_teller *teller)
{
    struct arena *arena = arena_new(1024);

    for (size_t i = 0; i < rule->count; i++)
        explain_place(&rule->places[i], request, arena, teller);
    arena_free(arena);
}

bool credential_in(const struct credential_rule *rule, struct str header)
{
    for (size_t i = 0; i < rule->count; i++)
        if (!rule->places[i].query && str_equal_nocase(rule->places[i].name, header))
            return true;
    return false;
}

int credential_write(const struct credential_rule *rule, struct str credential, struct arena *arena,
                     struct header *header, struct err *err)
{
    for (size_t i = 0; i < rule->count; i++) {
        const struct credential_place *place = &rule->places[i];

        if (place->query)
            continue;
        header->name = place->name;
        header->value = str_from(arena_printf(arena, "%.*s%s%.*s", STR_ARG(place->prefix),
                                              place->prefix.ptr ? " " : "", STR_ARG(credential)));
        return 0;
    }
    return err_set(err, ERR_NEVER, "cannot sign: what is signed with does not stand in a header");
}
