/* Compiling a scheme: every text is read, every contradiction is reported, and only then the scheme
 * exists. The rules that make a scheme safe are checked here, at load, so that an unsafe one never
 * sees a request. */
#include "verify/signed.h"

#include <stdio.h>
#include <stdlib.h>

static const struct signed_algorithm algorithms[] = {
    {"hmac-sha1", METHOD_KEYED, DIGEST_SHA1, 0},
    {"hmac-sha256", METHOD_KEYED, DIGEST_SHA256, 0},
    {"hmac-sha512", METHOD_KEYED, DIGEST_SHA512, 0},
    {"sha256", METHOD_PLAIN, DIGEST_SHA256, 0},
    {"ed25519", METHOD_PUBLIC, DIGEST_SHA512, VERIFY_KEY_ED25519},
    {"ecdsa-p256-sha256", METHOD_PUBLIC, DIGEST_SHA256, VERIFY_KEY_P256},
    {"rsa-sha256", METHOD_PUBLIC, DIGEST_SHA256, VERIFY_KEY_RSA},
};

const char *const signed_names[] = {"hmac-sha1", "hmac-sha256",       "hmac-sha512", "sha256",
                                    "ed25519",   "ecdsa-p256-sha256", "rsa-sha256",  NULL};

/* ---- compiling ---- */

struct compiler {
    struct signed_scheme *scheme;
    const struct verify_spec *spec;
    struct scheme_mistakes *mistakes;
};

static void complain(struct compiler *compiler, enum verify_field field, size_t index,
                     const char *text)
{
    scheme_mistake(compiler->mistakes, field, index, text);
}

/* One of signed_names. */
static void compile_algorithm(struct compiler *compiler)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++)
        if (str_is(compiler->spec->algorithm, algorithms[i].name))
            compiler->scheme->algorithm = &algorithms[i];
}

/* A text that must be there, and its parser. */
static void compile_text(struct compiler *compiler, enum verify_field field, struct str text,
                         int (*parse)(struct signed_scheme *scheme, struct str text,
                                      struct err *err),
                         const char *example)
{
    struct err err = {0};

    if (!text.ptr)
        complain(compiler, field, 0, example);
    else if (parse(compiler->scheme, text, &err) < 0)
        complain(compiler, field, 0, err.text);
}

/* Whether changing the timestamp breaks the signature. */
static bool time_is_signed(const struct signed_scheme *scheme)
{
    const struct template *template = &scheme->template;

    if (template_has(template, PART_TS) || scheme->time.item)
        return template_has(template, PART_TS);
    switch (scheme->time.place.kind) {
    case PLACE_HEADER:
        return template_names(template, PART_HEADER, scheme->time.place.name);
    case PLACE_QUERY:
        return template_has_url(template) ||
               template_names(template, PART_QUERY, scheme->time.place.name);
    case PLACE_JSON:
        return template_covers_body(template) ||
               template_has_pointer(template, scheme->time.place.pointer);
    case PLACE_HEADER_FAMILY:
        break;
    }
    return false;
}

/* A prefix that holds the character at which the list is cut fits nothing. */
static void check_prefix(struct compiler *compiler, enum verify_field field, char split,
                         struct str prefix)
{
    if (split && prefix.ptr && memchr(prefix.ptr, split, prefix.len))
        complain(compiler, field, 0,
                 "has a prefix with the character in it at which the signature is split");
}

/* A timestamp that would be taken for a signature, or the other way round. */
static void check_time_apart(struct compiler *compiler, const struct signature_rule *rule)
{
    const struct time_rule *time = &compiler->scheme->time;

    if (!time->used)
        return;
    if (!time->item && place_same(&time->place, &rule->place))
        complain(compiler, VERIFY_TIMESTAMP, 0,
                 "is in the place of the signature; write item PREFIX where both are in one list");
    if (time->item && rule->prefix.ptr && str_equal(time->prefix, rule->prefix))
        complain(compiler, VERIFY_TIMESTAMP, 0, "has the prefix of the signatures");
}

static void check_lists(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;
    bool any = false;

    for (size_t i = 0; i < scheme->signature_count; i++) {
        const struct signature_rule *rule = &scheme->signatures[i];

        any |= rule->split != '\0';
        check_prefix(compiler, VERIFY_SIGNATURE, rule->split, rule->prefix);
        check_prefix(compiler, VERIFY_TIMESTAMP, rule->split, scheme->time.prefix);
        check_time_apart(compiler, rule);
    }
    if (scheme->time.item && !any)
        complain(compiler, VERIFY_TIMESTAMP, 0,
                 "is an item of a list, but `signature` does not split one");
}

static void check_url(struct compiler *compiler)
{
    struct str url = compiler->scheme->public_url;

    if (!url.ptr) {
        if (template_has_url(&compiler->scheme->template))
            complain(compiler, VERIFY_PUBLIC_URL, 0,
                     "is missing, but `signed` uses {url}; write the URL as the provider knows it");
        return;
    }
    scheme_check_url(compiler->mistakes, url);
}

/* What is signed of the body, and that this is known where it is nothing. */
static void check_cover(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;
    bool covers = template_covers_body(&scheme->template);

    if (!covers && !scheme->body_unauthenticated)
        complain(compiler, VERIFY_SIGNED, 0,
                 "does not cover the body; without {body} or {sha256hex:body} anybody could change "
                 "it; where the sender signs no body, write body_unauthenticated = yes");
    else if (covers && scheme->body_unauthenticated)
        complain(compiler, VERIFY_BODY_UNAUTHENTICATED, 0,
                 "is yes, but `signed` covers the body; take it away");
    else if (!template_varies(&scheme->template))
        complain(compiler, VERIFY_SIGNED, 0,
                 "holds nothing of the request, so one signature would fit them all");
}

static void check_vars(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;
    char text[160];

    for (size_t i = 0; i < scheme->var_count; i++) {
        if (scheme->vars[i].used)
            continue;
        snprintf(text, sizeof(text), "names \"%.*s\", which `signed` does not use as {var:%.*s}",
                 STR_ARG(scheme->vars[i].name), STR_ARG(scheme->vars[i].name));
        complain(compiler, VERIFY_VARS, 0, text);
    }
}

/* Whether the place of a signature is itself signed, which no sender can do. */
static bool signs_itself(const struct signed_scheme *scheme, const struct place *place)
{
    const struct template *template = &scheme->template;

    switch (place->kind) {
    case PLACE_HEADER:
        return template_names(template, PART_HEADER, place->name);
    case PLACE_QUERY:
        return template_has_url(template) || template_names(template, PART_QUERY, place->name);
    case PLACE_JSON:
        return template_covers_body(template) || template_has(template, PART_CRC32) ||
               template_has_pointer(template, place->pointer);
    case PLACE_HEADER_FAMILY:
        break;
    }
    return false;
}

static void check_circles(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;

    for (size_t i = 0; i < scheme->signature_count; i++)
        if (signs_itself(scheme, &scheme->signatures[i].place)) {
            complain(compiler, VERIFY_SIGNED, 0,
                     "covers the place of the signature itself, which no sender can do");
            return;
        }
}

/* Safety rules over the whole. */
static void check_whole(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;
    const struct template *template = &scheme->template;

    check_cover(compiler);
    check_vars(compiler);
    if (template_has(template, PART_TS) && !scheme->time.used)
        complain(compiler, VERIFY_SIGNED, 0, "uses {ts}, but there is no `timestamp`");
    if (scheme->time.used && !time_is_signed(scheme))
        complain(compiler, VERIFY_TIMESTAMP, 0,
                 "is not signed, so anybody could change it; `signed` has to use {ts}");
    if (scheme->algorithm->method != METHOD_PLAIN && template_has(template, PART_SECRET))
        complain(compiler, VERIFY_SIGNED, 0, "uses {secret}, which is only for verify = sha256");
    if (scheme->algorithm->method == METHOD_PLAIN && !template_has(template, PART_SECRET))
        complain(compiler, VERIFY_SIGNED, 0, "has to use {secret}, or anybody could sign");
    check_lists(compiler);
    check_circles(compiler);
    check_url(compiler);
}

static void make_digesters(struct signed_scheme *scheme)
{
    const struct signed_algorithm *algorithm = scheme->algorithm;

    scheme->digester_count = algorithm->method == METHOD_PUBLIC ? 1 : scheme->secrets.count;
    scheme->digests = mem_alloc(scheme->digester_count * sizeof(*scheme->digests));
    scheme->digesters = mem_alloc(scheme->digester_count * sizeof(struct digester *));
    for (size_t i = 0; i < scheme->digester_count; i++)
        scheme->digesters[i] =
            algorithm->method == METHOD_KEYED
                ? digester_new_keyed(algorithm->digest, secret_reveal(scheme->secrets.items[i]))
                : digester_new(algorithm->digest);
}

static bool signature_in_body(const struct signed_scheme *scheme)
{
    for (size_t i = 0; i < scheme->signature_count; i++)
        if (scheme->signatures[i].place.kind == PLACE_JSON)
            return true;
    return false;
}

/* What requests are judged with. */
static void make_contexts(struct signed_scheme *scheme)
{
    bool time_in_body =
        scheme->time.used && !scheme->time.item && scheme->time.place.kind == PLACE_JSON;
    struct err err;

    scheme->signs_time = template_has(&scheme->template, PART_TS);
    scheme->signs_members = signature_in_body(scheme) ||
                            template_has(&scheme->template, PART_JSON) ||
                            (time_in_body && scheme->signs_time);
    make_digesters(scheme);
    if (scheme->pointer_count)
        scheme->paths = json_paths_new(scheme->pointers, scheme->pointer_count, &err);
}

void *signed_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct signed_scheme *scheme = mem_alloc(sizeof(*scheme));
    struct compiler compiler = {scheme, spec, mistakes};

    scheme->arena = arena_new(1024);
    buf_init(&scheme->text, BUF_NO_CAP);
    scheme->past_us = spec->tolerance.past_ms * 1000;
    scheme->future_us = spec->tolerance.future_ms * 1000;
    scheme->public_url = arena_copy(scheme->arena, spec->public_url);
    compile_algorithm(&compiler);
    compile_text(&compiler, VERIFY_SIGNATURE, spec->signature, signature_parse,
                 "is missing; write, for example, signature = header:X-Signature hex");
    if (spec->timestamp.ptr)
        compile_text(&compiler, VERIFY_TIMESTAMP, spec->timestamp, time_parse, "");
    if (spec->vars.ptr)
        compile_text(&compiler, VERIFY_VARS, spec->vars, vars_parse, "");
    scheme->body_unauthenticated = str_is(spec->body_unauthenticated, "yes");
    compile_text(&compiler, VERIFY_SIGNED, spec->signed_template, template_parse,
                 "is missing; write, for example, signed = {body}");
    if (scheme->algorithm->method == METHOD_PUBLIC)
        public_compile(scheme, spec, mistakes);
    else
        secrets_compile(&scheme->secrets, spec, mistakes);
    if (!mistakes->any)
        check_whole(&compiler);
    if (mistakes->any) {
        signed_free(scheme);
        return NULL;
    }
    make_contexts(scheme);
    return scheme;
}

void signed_free(void *state)
{
    struct signed_scheme *scheme = state;

    for (size_t i = 0; i < scheme->digester_count; i++)
        digester_free(scheme->digesters[i]);
    public_release(scheme);
    buf_release(&scheme->text);
    json_paths_free(scheme->paths);
    free(scheme->digests);
    secrets_release(&scheme->secrets);
    free(scheme->digesters);
    arena_free(scheme->arena);
    free(scheme);
}
