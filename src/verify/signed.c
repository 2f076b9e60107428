/* Judging one request: find the offered signatures and the timestamp, compare them with what the
 * secrets make of the text, and only then look at the clock, so that a wrong signature is called
 * wrong however old it is. */
#include "verify/signed.h"

static enum verify_result judge_time(const struct signed_scheme *scheme,
                                     const struct material *material)
{
    int64_t us = 0, now = material->request->received_us;

    switch (time_read(scheme->time.unit, material->timestamp, &us)) {
    case TIME_UNREADABLE:
        return VERIFY_BAD;
    case TIME_OUT_OF_RANGE:
        return VERIFY_STALE;
    case TIME_READ:
        break;
    }
    if (scheme->past_us == 0)
        return VERIFY_VALID;
    /* Whole seconds of the sender's clock are compared with whole seconds of ours. */
    if (scheme->time.unit == TIME_S)
        now -= now % 1000000;
    return us < now - scheme->past_us || us > now + scheme->future_us ? VERIFY_STALE : VERIFY_VALID;
}

/* ---- the signature ---- */

struct comparison {
    const struct signed_scheme *scheme;
    size_t size;
    bool found;
    size_t secret;
};

static bool compare_item(void *argument, const struct signature_rule *rule, struct str item)
{
    struct comparison *comparison = argument;
    unsigned char offered[DIGEST_MAX];

    if (comparison->found ||
        signature_decode(rule, item, offered, comparison->size) != comparison->size)
        return comparison->found;
    for (size_t i = 0; i < comparison->scheme->secrets.count && !comparison->found; i++) {
        if (digest_equal(offered, comparison->scheme->digests[i], comparison->size)) {
            comparison->found = true;
            comparison->secret = i;
        }
    }
    return comparison->found;
}

static enum verify_result compute(struct signed_scheme *scheme, struct material *material,
                                  size_t secret)
{
    struct digester *digester = scheme->digesters[secret];
    enum verify_result result;

    digester_begin(digester);
    result = template_feed(scheme, material, secret_reveal(scheme->secrets.items[secret]),
                           (struct sink){digester, NULL});
    digester_end(digester, scheme->digests[secret]);
    return result;
}

/* Each secret's digest is computed once. */
static enum verify_result judge_digest(struct signed_scheme *scheme, struct material *material,
                                       size_t *secret)
{
    struct comparison comparison = {.scheme = scheme,
                                    .size = digest_size(scheme->algorithm->digest)};
    enum verify_result result = VERIFY_VALID;

    for (size_t i = 0; i < scheme->secrets.count && result == VERIFY_VALID; i++)
        result = compute(scheme, material, i);
    if (result == VERIFY_VALID)
        result = places_visit(scheme, material, compare_item, &comparison);
    if (result == VERIFY_VALID && !comparison.found)
        result = VERIFY_BAD;
    if (result == VERIFY_VALID)
        *secret = comparison.secret;
    secret_wipe(scheme->digests, scheme->secrets.count * sizeof(*scheme->digests));
    return result;
}

/* ---- the whole ---- */

/* Members of the body are read before the signature is checked only where the scheme signs them:
 * a bounded read of what nobody has vouched for yet. */
static enum verify_result judge(struct signed_scheme *scheme, struct material *material,
                                size_t *secret)
{
    enum verify_result result = VERIFY_VALID;

    if (!places_all_there(scheme, material->request))
        return VERIFY_MISSING;
    if (scheme->signs_members && !places_members(scheme, material))
        return VERIFY_BAD;
    if (scheme->signs_time)
        result = places_time(scheme, material);
    if (result == VERIFY_VALID)
        result = scheme->algorithm->method == METHOD_PUBLIC
                     ? public_judge(scheme, material, secret)
                     : judge_digest(scheme, material, secret);
    if (result != VERIFY_VALID || !scheme->time.used)
        return result;
    if (scheme->paths && !scheme->signs_members && !places_members(scheme, material))
        return VERIFY_BAD;
    if (!scheme->signs_time && places_time(scheme, material) != VERIFY_VALID)
        return VERIFY_BAD;
    return judge_time(scheme, material);
}

static enum verify_result signed_judge(void *state, const struct request *request, size_t *secret)
{
    struct material material = {.request = request};
    size_t matched = 0;
    enum verify_result result = judge(state, &material, &matched);

    if (result == VERIFY_VALID || result == VERIFY_STALE)
        *secret = matched;
    arena_free(material.arena);
    return result;
}

const struct scheme_kind scheme_signed = {
    .names = signed_names,
    .reads = SCHEME_READS(VERIFY_SIGNATURE) | SCHEME_READS(VERIFY_TIMESTAMP) |
             SCHEME_READS(VERIFY_SIGNED) | SCHEME_READS(VERIFY_VARS) |
             SCHEME_READS(VERIFY_BODY_UNAUTHENTICATED),
    .compile = signed_compile,
    .judge = signed_judge,
    .sign = signed_sign,
    .explain = signed_explain,
    .free = signed_free,
};
