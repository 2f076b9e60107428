/* Compiling a scheme: every text is read, every contradiction is reported, and only then the scheme
 * exists. The rules that make a scheme safe are checked here, at load, so that an unsafe one never
 * sees a request. */
#include "verify/signed.h"

#include <stdlib.h>

static const struct {
    const char *name;
    enum digest digest;
    bool keyed;
} algorithms[] = {
    {"hmac-sha1", DIGEST_SHA1, true},
    {"hmac-sha256", DIGEST_SHA256, true},
    {"hmac-sha512", DIGEST_SHA512, true},
    {"sha256", DIGEST_SHA256, false},
};

const char *const signed_names[] = {"hmac-sha1", "hmac-sha256", "hmac-sha512", "sha256", NULL};

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
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        if (str_is(compiler->spec->algorithm, algorithms[i].name)) {
            compiler->scheme->digest = algorithms[i].digest;
            compiler->scheme->keyed = algorithms[i].keyed;
        }
    }
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

/* Whether changing the timestamp breaks the signature; the body is always covered. */
static bool time_is_signed(const struct signed_scheme *scheme)
{
    const struct template *template = &scheme->template;

    if (template_has(template, PART_TS) || scheme->time.item)
        return template_has(template, PART_TS);
    switch (scheme->time.place.kind) {
    case PLACE_HEADER:
        return template_names(template, PART_HEADER, scheme->time.place.name);
    case PLACE_QUERY:
        return template_has(template, PART_URL) ||
               template_names(template, PART_QUERY, scheme->time.place.name);
    case PLACE_JSON:
        return true;
    case PLACE_HEADER_FAMILY:
        break;
    }
    return false;
}

/* A prefix that holds the character at which the list is cut fits nothing. */
static void check_prefix(struct compiler *compiler, enum verify_field field, struct str prefix)
{
    char split = compiler->scheme->signature.split;

    if (split && prefix.ptr && memchr(prefix.ptr, split, prefix.len))
        complain(compiler, field, 0,
                 "has a prefix with the character in it at which the signature is split");
}

static void check_url(struct compiler *compiler)
{
    struct str url = compiler->scheme->public_url;

    if (!url.ptr) {
        if (template_has(&compiler->scheme->template, PART_URL))
            complain(compiler, VERIFY_PUBLIC_URL, 0,
                     "is missing, but `signed` uses {url}; write the URL as the provider knows it");
        return;
    }
    if (!str_starts(url, STR("https://")) && !str_starts(url, STR("http://")))
        complain(compiler, VERIFY_PUBLIC_URL, 0, "has to begin with https:// or http://");
    else if (memchr(url.ptr, '?', url.len) || memchr(url.ptr, '#', url.len) ||
             memchr(url.ptr, ' ', url.len))
        complain(compiler, VERIFY_PUBLIC_URL, 0,
                 "is written without query; the query that was received is added to it");
}

/* Safety rules over the whole. */
static void check_whole(struct compiler *compiler)
{
    const struct signed_scheme *scheme = compiler->scheme;
    const struct template *template = &scheme->template;
    bool covers_body = template_has(template, PART_BODY) || template_has(template, PART_SHA256HEX);

    if (!covers_body)
        complain(
            compiler, VERIFY_SIGNED, 0,
            "does not cover the body; without {body} or {sha256hex:body} anybody could change it");
    if (template_has(template, PART_TS) && !scheme->time.used)
        complain(compiler, VERIFY_SIGNED, 0, "uses {ts}, but there is no `timestamp`");
    if (scheme->time.used && !time_is_signed(scheme))
        complain(compiler, VERIFY_TIMESTAMP, 0,
                 "is not signed, so anybody could change it; `signed` has to use {ts}");
    if (scheme->keyed && template_has(template, PART_SECRET))
        complain(compiler, VERIFY_SIGNED, 0, "uses {secret}, which is only for verify = sha256");
    if (!scheme->keyed && !template_has(template, PART_SECRET))
        complain(compiler, VERIFY_SIGNED, 0, "has to use {secret}, or anybody could sign");
    if (scheme->time.item && !scheme->signature.split)
        complain(compiler, VERIFY_TIMESTAMP, 0,
                 "is an item of a list, but `signature` does not split one");
    check_prefix(compiler, VERIFY_SIGNATURE, scheme->signature.prefix);
    check_prefix(compiler, VERIFY_TIMESTAMP, scheme->time.prefix);
    check_url(compiler);
}

/* What requests are judged with. */
static void make_contexts(struct signed_scheme *scheme)
{
    bool time_in_body =
        scheme->time.used && !scheme->time.item && scheme->time.place.kind == PLACE_JSON;
    struct err err;

    scheme->signs_time = template_has(&scheme->template, PART_TS);
    scheme->signs_members = scheme->signature.place.kind == PLACE_JSON ||
                            template_has(&scheme->template, PART_JSON) ||
                            (time_in_body && scheme->signs_time);
    scheme->digests = mem_alloc(scheme->secrets.count * sizeof(*scheme->digests));
    scheme->digesters = mem_alloc((scheme->secrets.count + 1) * sizeof(struct digester *));
    for (size_t i = 0; i < scheme->secrets.count; i++)
        scheme->digesters[i] =
            scheme->keyed
                ? digester_new_keyed(scheme->digest, secret_reveal(scheme->secrets.items[i]))
                : digester_new(scheme->digest);
    if (scheme->pointer_count)
        scheme->paths = json_paths_new(scheme->pointers, scheme->pointer_count, &err);
}

void *signed_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct signed_scheme *scheme = mem_alloc(sizeof(*scheme));
    struct compiler compiler = {scheme, spec, mistakes};

    scheme->arena = arena_new(1024);
    scheme->tolerance_us = spec->tolerance_ms * 1000;
    scheme->public_url = arena_copy(scheme->arena, spec->public_url);
    compile_algorithm(&compiler);
    compile_text(&compiler, VERIFY_SIGNATURE, spec->signature, signature_parse,
                 "is missing; write, for example, signature = header:X-Signature hex");
    if (spec->timestamp.ptr)
        compile_text(&compiler, VERIFY_TIMESTAMP, spec->timestamp, time_parse, "");
    compile_text(&compiler, VERIFY_SIGNED, spec->signed_template, template_parse,
                 "is missing; write, for example, signed = {body}");
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

    for (size_t i = 0; scheme->digesters && i < scheme->secrets.count; i++)
        digester_free(scheme->digesters[i]);
    json_paths_free(scheme->paths);
    free(scheme->digests);
    secrets_release(&scheme->secrets);
    free(scheme->digesters);
    arena_free(scheme->arena);
    free(scheme);
}
