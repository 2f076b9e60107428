/* The one door to all kinds of schemes: a table of them, and calls handed on. */
#include "verify/verify.h"

#include <stdlib.h>

#include "verify/scheme.h"

static const struct scheme_kind *const kinds[] = {&scheme_signed, &scheme_token,  &scheme_basic,
                                                  &scheme_jwt,    &scheme_twilio, &scheme_adyen,
                                                  &scheme_sns};

struct verify_scheme {
    const struct scheme_kind *kind;
    void *state;
};

static const struct scheme_kind *find_kind(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (const char *const *known = kinds[i]->names; *known; known++)
            if (str_is(name, *known))
                return kinds[i];
    return NULL;
}

bool verify_knows(struct str name)
{
    return find_kind(name) != NULL;
}

/* What all kinds refuse: above all a setting of which somebody believes that it is read. */
static void check_settings(const struct scheme_kind *kind, const struct verify_spec *spec,
                           struct scheme_mistakes *mistakes)
{
    struct str body = spec->body_unauthenticated;
    const struct {
        enum verify_field field;
        struct str text;
    } settings[] = {
        {VERIFY_SIGNATURE, spec->signature},
        {VERIFY_TIMESTAMP, spec->timestamp},
        {VERIFY_SIGNED, spec->signed_template},
        {VERIFY_VARS, spec->vars},
        {VERIFY_ALGORITHMS, spec->algorithms},
        {VERIFY_CLAIMS, spec->claims},
        {VERIFY_BODY_UNAUTHENTICATED, str_is(body, "yes") ? body : STR_NONE},
    };

    if (body.ptr && !str_is(body, "yes") && !str_is(body, "no"))
        scheme_mistake(mistakes, VERIFY_BODY_UNAUTHENTICATED, 0, "is yes or no");
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (settings[i].text.ptr && !(kind->reads & SCHEME_READS(settings[i].field)))
            scheme_mistake(mistakes, settings[i].field, 0,
                           "is not used by this kind of verification; take it away");
}

struct verify_scheme *verify_scheme_new(const struct verify_spec *spec, verify_report *report,
                                        void *argument)
{
    struct scheme_mistakes mistakes = {report, argument, false};
    const struct scheme_kind *kind = find_kind(spec->algorithm);
    struct verify_scheme *scheme;
    void *state;

    if (!kind) {
        scheme_mistake(&mistakes, VERIFY_ALGORITHM, 0, "is no scheme; inboxd.conf(5) lists them");
        return NULL;
    }
    check_settings(kind, spec, &mistakes);
    state = kind->compile(spec, &mistakes);
    if (!state)
        return NULL;
    scheme = mem_alloc(sizeof(*scheme));
    *scheme = (struct verify_scheme){kind, state};
    return scheme;
}

void verify_scheme_free(struct verify_scheme *scheme)
{
    if (!scheme)
        return;
    scheme->kind->free(scheme->state);
    free(scheme);
}

enum verify_result verify_request(struct verify_scheme *scheme, const struct request *request,
                                  size_t *secret)
{
    size_t matched = 0;
    enum verify_result result = scheme->kind->judge(scheme->state, request, &matched);

    if (secret && (result == VERIFY_VALID || result == VERIFY_STALE))
        *secret = matched;
    return result;
}

void verify_explain(struct verify_scheme *scheme, const struct request *request, verify_tell *tell,
                    void *argument)
{
    if (scheme->kind->explain)
        scheme->kind->explain(scheme->state, request, &(struct scheme_teller){tell, argument});
}

bool verify_shows_secret(const struct verify_scheme *scheme, struct str header)
{
    return scheme->kind->shows && scheme->kind->shows(scheme->state, header);
}

int verify_sign(struct verify_scheme *scheme, const struct request *request, int64_t age_s,
                bool bad, struct arena *arena, struct header *headers, size_t max, size_t *count,
                struct err *err)
{
    if (!scheme->kind->sign)
        return err_set(err, ERR_NEVER,
                       "cannot sign with a scheme whose signature is not in a header");
    return scheme->kind->sign(scheme->state, request, age_s, bad, arena, headers, max, count, err);
}
