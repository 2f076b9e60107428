/* Secrets that a sender shows: `verify = token` anywhere, `verify = basic` as HTTP Basic
 * authentication (RFC 7617), where a secret is USER:PASSWORD. What is shown is compared by its
 * digest, in constant time, so that neither its bytes nor its length leak. The body is not
 * authenticated: who has seen one request can send any other. */
#include <stdlib.h>

#include "base/codec.h"
#include "base/digest.h"
#include "base/json.h"
#include "verify/credential.h"
#include "verify/scheme.h"

#define SHA256_SIZE 32

struct token_scheme {
    struct arena *arena;
    bool basic;                  /* what is shown is base64 */
    struct credential_rule rule; /* no places: the token is in the body */
    struct json_paths *list;     /* of the array whose elements each show a token; NULL: one does */
    struct json_paths *member;   /* where a token is, in an element or in the whole body */
    struct secrets secrets;
    unsigned char (*digests)[SHA256_SIZE]; /* of each secret */
};

/* ---- compiling ---- */

/* A pointer as a set of one. */
static int paths_of(struct str pointer, struct json_paths **paths, struct err *err)
{
    *paths = json_paths_new(&pointer, 1, err);
    return *paths ? 0 : -1;
}

/* Cuts "/value/STAR/name" at its star; false: it has none. */
static bool cut_star(struct str pointer, struct str *list, struct str *member)
{
    for (size_t i = 0; i + 1 < pointer.len; i++) {
        size_t end = i + 2;

        if (pointer.ptr[i] != '/' || pointer.ptr[i + 1] != '*' ||
            (end < pointer.len && pointer.ptr[end] != '/'))
            continue;
        *list = (struct str){pointer.ptr, i};
        *member = (struct str){pointer.ptr + end, pointer.len - end};
        return true;
    }
    return false;
}

static int parse_pointer(struct token_scheme *scheme, struct str pointer, struct err *err)
{
    struct str list, member, inner, name;

    if (!cut_star(pointer, &list, &member))
        return paths_of(pointer, &scheme->member, err);
    if (cut_star(member, &inner, &name))
        return err_set(err, ERR_INPUT, "has more than one * in it");
    if (paths_of(list, &scheme->list, err) < 0)
        return -1;
    return paths_of(member, &scheme->member, err);
}

static int parse_place(struct token_scheme *scheme, struct str text, struct err *err)
{
    struct str rest = text, word = scheme_word(&rest);

    if (!word.ptr || !str_starts(word, STR("json:")))
        return credential_parse(&scheme->rule, text, scheme->arena, err);
    if (scheme_word(&rest).ptr)
        return err_set(err, ERR_INPUT, "has more than a pointer after json:");
    return parse_pointer(scheme, (struct str){word.ptr + 5, word.len - 5}, err);
}

static void token_free(void *state)
{
    struct token_scheme *scheme = state;

    secrets_release(&scheme->secrets);
    json_paths_free(scheme->list);
    json_paths_free(scheme->member);
    free(scheme->digests);
    arena_free(scheme->arena);
    free(scheme);
}

static struct token_scheme *token_new(void)
{
    struct token_scheme *scheme = mem_alloc(sizeof(*scheme));

    scheme->arena = arena_new(512);
    return scheme;
}

/* What both kinds have in common: the secrets, and settings that neither reads. */
static void *finish(struct token_scheme *scheme, const struct verify_spec *spec,
                    struct scheme_mistakes *mistakes)
{
    if (scheme_takes_raw(spec, mistakes))
        secrets_compile(&scheme->secrets, spec, mistakes);
    if (mistakes->any) {
        token_free(scheme);
        return NULL;
    }
    scheme->digests = mem_alloc(scheme->secrets.count * sizeof(*scheme->digests));
    for (size_t i = 0; i < scheme->secrets.count; i++)
        digest_sha256(secret_reveal(scheme->secrets.items[i]), scheme->digests[i]);
    return scheme;
}

static void *token_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct token_scheme *scheme = token_new();
    struct err err = {0};

    if (!spec->signature.ptr)
        scheme_mistake(mistakes, VERIFY_SIGNATURE, 0,
                       "is missing; write, for example, signature = header:X-Token");
    else if (parse_place(scheme, spec->signature, &err) < 0)
        scheme_mistake(mistakes, VERIFY_SIGNATURE, 0, err.text);
    return finish(scheme, spec, mistakes);
}

static void check_pair(struct str secret, size_t i, struct scheme_mistakes *mistakes)
{
    const char *colon = secret.len ? memchr(secret.ptr, ':', secret.len) : NULL;

    if (secret.len == 0)
        return; /* said for all kinds */
    if (!colon)
        scheme_mistake(mistakes, VERIFY_SECRET, i,
                       "has no colon; with verify = basic it is USER:PASSWORD");
    else if (colon + 1 == secret.ptr + secret.len)
        scheme_mistake(mistakes, VERIFY_SECRET, i,
                       "has no password behind its colon, so anybody could guess it");
}

static void *basic_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct token_scheme *scheme = token_new();

    scheme->basic = true;
    scheme->rule = (struct credential_rule){
        .places = {{.name = STR("Authorization"), .prefix = STR("Basic")}}, .count = 1};
    for (size_t i = 0; i < spec->secret_count; i++)
        check_pair(spec->secrets[i], i, mistakes);
    return finish(scheme, spec, mistakes);
}

/* ---- judging ---- */

/* All secrets are compared, whichever fits. */
static bool fits(const struct token_scheme *scheme, struct str token, size_t *secret)
{
    unsigned char offered[SHA256_SIZE];
    bool found = false;

    digest_sha256(token, offered);
    for (size_t i = scheme->secrets.count; i-- > 0;) {
        if (digest_equal(offered, scheme->digests[i], SHA256_SIZE)) {
            found = true;
            *secret = i;
        }
    }
    return found;
}

/* USER:PASSWORD out of its base64, where that is how it is shown. */
static bool decode(const struct token_scheme *scheme, struct str *credential, struct arena *arena)
{
    unsigned char *plain;
    ssize_t len;

    if (!scheme->basic)
        return true;
    plain = (unsigned char *)arena_bytes(arena, credential->len);
    len = codec_base64_decode(*credential, BASE64_STRICT, plain, credential->len);
    *credential = (struct str){(const char *)plain, len < 0 ? 0 : (size_t)len};
    return len >= 0;
}

static enum verify_result judge_places(const struct token_scheme *scheme,
                                       const struct request *request, struct arena *arena,
                                       size_t *secret)
{
    enum verify_result result = VERIFY_MISSING;

    for (size_t i = 0; i < scheme->rule.count; i++) {
        struct str token;

        switch (credential_read(&scheme->rule.places[i], request, arena, &token)) {
        case VERIFY_VALID:
            if (decode(scheme, &token, arena) && fits(scheme, token, secret))
                return VERIFY_VALID;
            result = VERIFY_BAD;
            break;
        case VERIFY_BAD:
        case VERIFY_STALE:
            result = VERIFY_BAD;
            break;
        case VERIFY_MISSING:
            break;
        }
    }
    return result;
}

static enum verify_result judge_member(const struct token_scheme *scheme, struct str document,
                                       struct arena *arena, size_t *secret)
{
    struct json_value value;
    struct json_scan scan;
    struct json_text token;

    if (!json_scan(document, scheme->member, JSON_DEPTH_DEFAULT, &scan, &value))
        return VERIFY_BAD;
    if (value.kind == JSON_KIND_ABSENT)
        return VERIFY_MISSING;
    if (value.kind != JSON_KIND_STRING)
        return VERIFY_BAD;
    token = json_string_text(value.text, arena);
    return fits(scheme, token.bytes, secret) ? VERIFY_VALID : VERIFY_BAD;
}

/* Every element has to show a token, and an array without elements shows none. */
static enum verify_result judge_list(const struct token_scheme *scheme, struct str body,
                                     struct arena *arena, size_t *secret)
{
    struct json_value list, element;
    struct json_items items;
    struct json_scan scan;
    bool any = false;

    if (!json_scan(body, scheme->list, JSON_DEPTH_DEFAULT, &scan, &list))
        return VERIFY_BAD;
    if (list.kind != JSON_KIND_ARRAY)
        return list.kind == JSON_KIND_ABSENT ? VERIFY_MISSING : VERIFY_BAD;
    items = json_items_begin(list.text);
    while (json_items_next(&items, &element)) {
        enum verify_result result = judge_member(scheme, element.text, arena, secret);

        if (result != VERIFY_VALID)
            return result;
        any = true;
    }
    return any ? VERIFY_VALID : VERIFY_MISSING;
}

static enum verify_result token_judge(void *state, const struct request *request, size_t *secret)
{
    const struct token_scheme *scheme = state;
    struct arena *arena = arena_new(1024);
    enum verify_result result;

    if (scheme->rule.count)
        result = judge_places(scheme, request, arena, secret);
    else if (scheme->list)
        result = judge_list(scheme, request->body, arena, secret);
    else
        result = judge_member(scheme, request->body, arena, secret);
    arena_free(arena);
    return result;
}

/* ---- the sender's side ---- */

static int token_sign(void *state, const struct request *request, int64_t age_s, bool bad,
                      struct arena *arena, struct header *headers, size_t max, size_t *count,
                      struct err *err)
{
    const struct token_scheme *scheme = state;
    struct str token = secret_reveal(scheme->secrets.items[0]);

    (void)request;
    (void)age_s;
    if (max == 0)
        return err_set(err, ERR_NEVER, "cannot sign without room for a header");
    if (bad)
        token = str_from(arena_printf(arena, "%.*sx", STR_ARG(token)));
    if (scheme->basic) {
        char *text = arena_bytes(arena, CODEC_BASE64_SIZE(token.len));

        codec_base64_encode(token.ptr, token.len, false, text);
        token = str_from(text);
    }
    if (credential_write(&scheme->rule, token, arena, headers, err) < 0)
        return -1;
    *count = 1;
    return 0;
}

static bool token_shows(const void *state, struct str header)
{
    const struct token_scheme *scheme = state;

    return credential_in(&scheme->rule, header);
}

/* ---- for people ---- */

static void explain_list(const struct token_scheme *scheme, struct str body,
                         const struct scheme_teller *teller)
{
    size_t elements = 0, showing = 0;
    struct json_value list, element, token;
    struct json_items items;
    struct json_scan scan;

    if (!json_scan(body, scheme->list, JSON_DEPTH_DEFAULT, &scan, &list) ||
        list.kind != JSON_KIND_ARRAY) {
        scheme_tell(teller, "signature", "the body has no such array");
        return;
    }
    items = json_items_begin(list.text);
    while (json_items_next(&items, &element)) {
        elements++;
        if (json_scan(element.text, scheme->member, JSON_DEPTH_DEFAULT, &scan, &token))
            showing += token.kind == JSON_KIND_STRING;
    }
    scheme_tell(teller, "signature", "the array has %zu elements, %zu of which show a token",
                elements, showing);
}

static void token_explain(void *state, const struct request *request,
                          const struct scheme_teller *teller)
{
    const struct token_scheme *scheme = state;
    struct json_value token;
    struct json_scan scan;

    credential_explain(&scheme->rule, request, teller);
    if (scheme->list)
        explain_list(scheme, request->body, teller);
    else if (scheme->member)
        scheme_tell(teller, "signature", "the member of the body is %s",
                    json_scan(request->body, scheme->member, JSON_DEPTH_DEFAULT, &scan, &token) &&
                            token.kind == JSON_KIND_STRING
                        ? "there"
                        : "not there, or no text");
    scheme_tell(teller, "signed", "nothing: who has seen one request can send any other");
}

const struct scheme_kind scheme_token = {
    .names = (const char *const[]){"token", NULL},
    .reads = SCHEME_READS(VERIFY_SIGNATURE) | SCHEME_READS(VERIFY_BODY_UNAUTHENTICATED),
    .compile = token_compile,
    .judge = token_judge,
    .sign = token_sign,
    .shows = token_shows,
    .explain = token_explain,
    .free = token_free,
};

const struct scheme_kind scheme_basic = {
    .names = (const char *const[]){"basic", NULL},
    .reads = SCHEME_READS(VERIFY_BODY_UNAUTHENTICATED),
    .compile = basic_compile,
    .judge = token_judge,
    .sign = token_sign,
    .shows = token_shows,
    .explain = token_explain,
    .free = token_free,
};
