/* Compiling `verify = jwt`. */
#include <stdlib.h>

#include "verify/jwt.h"

const struct jwt_algorithm_info jwt_algorithms[JWT_ALGORITHMS] = {
    [JWT_HS256] = {"HS256", DIGEST_SHA256, 0},
    [JWT_HS384] = {"HS384", DIGEST_SHA384, 0},
    [JWT_HS512] = {"HS512", DIGEST_SHA512, 0},
    [JWT_ES256] = {"ES256", DIGEST_SHA256, VERIFY_KEY_P256},
    [JWT_RS256] = {"RS256", DIGEST_SHA256, VERIFY_KEY_RSA},
};

#define KNOWN "HS256, HS384, HS512, ES256 and RS256"

static int allow(struct jwt_scheme *scheme, struct str name, struct err *err)
{
    for (size_t i = 0; i < JWT_ALGORITHMS; i++) {
        if (str_is(name, jwt_algorithms[i].name)) {
            scheme->allowed[i] = true;
            return 0;
        }
    }
    if (str_equal_nocase(name, STR("none")))
        return err_set(err, ERR_INPUT, "cannot be none, or anybody could write a token");
    return err_set(err, ERR_INPUT, "cannot use \"%.*s\"; there are " KNOWN, STR_ARG(name));
}

static bool allows(const struct jwt_scheme *scheme, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (scheme->allowed[i])
            return true;
    return false;
}

static int parse_algorithms(struct jwt_scheme *scheme, struct str text, struct err *err)
{
    struct str rest = text, word;

    while ((word = scheme_word(&rest)).ptr)
        if (allow(scheme, word, err) < 0)
            return -1;
    if (allows(scheme, 0, JWT_SHARED) && allows(scheme, JWT_SHARED, JWT_ALGORITHMS))
        return err_set(err, ERR_INPUT,
                       "mixes shared secrets (HS) with public keys (ES, RS); no secret is both");
    if (!allows(scheme, 0, JWT_ALGORITHMS))
        return err_set(err, ERR_INPUT, "names none; there are " KNOWN);
    return 0;
}

/* A bearer token that says nothing of the body fits any body; that has to be known. */
static void check_cover(const struct jwt_scheme *scheme, const struct verify_spec *spec,
                        struct scheme_mistakes *mistakes)
{
    bool covers = jwt_claims_cover_body(&scheme->claims);
    bool unauthenticated = str_is(spec->body_unauthenticated, "yes");

    if (!covers && !unauthenticated)
        scheme_mistake(mistakes, VERIFY_CLAIMS, 0,
                       "do not cover the body, so anybody who sees a token could change it; name "
                       "the claim that has its digest, such as sha256={sha256hex:body}, or write "
                       "body_unauthenticated = yes");
    else if (covers && unauthenticated)
        scheme_mistake(mistakes, VERIFY_BODY_UNAUTHENTICATED, 0,
                       "is yes, but `claims` cover the body; take it away");
}

void *jwt_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    static const struct str members[] = {STR("/alg"), STR("/kid"), STR("/crit")};
    struct jwt_scheme *scheme = mem_alloc(sizeof(*scheme));
    struct err err = {0};

    scheme->arena = arena_new(1024);
    if (!spec->signature.ptr)
        scheme_mistake(mistakes, VERIFY_SIGNATURE, 0,
                       "is missing; write, for example, signature = header:Authorization prefix "
                       "Bearer");
    else if (credential_parse(&scheme->rule, spec->signature, scheme->arena, &err) < 0)
        scheme_mistake(mistakes, VERIFY_SIGNATURE, 0, err.text);
    if (!spec->algorithms.ptr)
        scheme_mistake(mistakes, VERIFY_ALGORITHMS, 0,
                       "is missing; write, for example, algorithms = HS256");
    else if (parse_algorithms(scheme, spec->algorithms, &err) < 0)
        scheme_mistake(mistakes, VERIFY_ALGORITHMS, 0, err.text);
    else
        jwt_keys_compile(&scheme->keys, spec, scheme->allowed, mistakes);
    jwt_claims_compile(&scheme->claims, spec, scheme->arena, mistakes);
    if (!mistakes->any)
        check_cover(scheme, spec, mistakes);
    if (mistakes->any) {
        jwt_free(scheme);
        return NULL;
    }
    scheme->header = json_paths_new(members, ARRAY_LEN(members), &err);
    return scheme;
}

void jwt_free(void *state)
{
    struct jwt_scheme *scheme = state;

    jwt_keys_release(&scheme->keys);
    jwt_claims_release(&scheme->claims);
    json_paths_free(scheme->header);
    arena_free(scheme->arena);
    free(scheme);
}
