/* Judging one request: find the offered signatures and the timestamp, compute each secret's digest
 * once, compare, and only then look at the clock, so that a wrong signature is called wrong however
 * old it is. */
#include "verify/signed.h"

/* ---- where texts are ---- */

/* The text at a place that must be single. */
static enum verify_result read_single(const struct place *place, struct material *material,
                                      struct str *text)
{
    size_t found;

    switch (place->kind) {
    case PLACE_HEADER:
        found = request_header(material->request, place->name, text);
        return found == 1 ? VERIFY_VALID : found == 0 ? VERIFY_MISSING : VERIFY_BAD;
    case PLACE_QUERY:
        found = request_query(material->request, place->name, text);
        return found == 1 ? VERIFY_VALID : found == 0 ? VERIFY_MISSING : VERIFY_BAD;
    case PLACE_JSON:
        return material_json(material, place->pointer, text) ? VERIFY_VALID : VERIFY_MISSING;
    case PLACE_HEADER_FAMILY:
        break;
    }
    return VERIFY_BAD;
}

/* Whether a header is NAME-1, NAME-2, ... */
static bool in_family(struct str name, struct str family)
{
    if (name.len <= family.len || name.len > family.len + 3 ||
        !str_equal_nocase((struct str){name.ptr, family.len}, family))
        return false;
    for (size_t i = family.len; i < name.len; i++)
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return false;
    return true;
}

/* Calls `each` for every item that is offered as a signature (a timestamp among them is one too).
 */
static enum verify_result each_item(const struct signed_scheme *scheme, struct material *material,
                                    bool (*each)(void *argument, struct str item), void *argument)
{
    const struct signature_rule *rule = &scheme->signature;
    const struct request *request = material->request;
    enum verify_result result;
    bool any = false;
    struct str value;

    if (rule->place.kind != PLACE_HEADER_FAMILY && !rule->repeat) {
        result = read_single(&rule->place, material, &value);
        if (result == VERIFY_VALID)
            signature_items(rule, value, each, argument);
        return result;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        struct str name = request->headers[i].name;

        if (rule->place.kind == PLACE_HEADER_FAMILY ? !in_family(name, rule->place.name)
                                                    : !str_equal_nocase(name, rule->place.name))
            continue;
        any = true;
        if (signature_items(rule, request->headers[i].value, each, argument))
            break;
    }
    return any ? VERIFY_VALID : VERIFY_MISSING;
}

/* ---- the timestamp ---- */

struct time_search {
    struct str prefix, found;
    size_t count;
};

static bool note_time(void *argument, struct str item)
{
    struct time_search *search = argument;

    if (str_starts(item, search->prefix)) {
        search->found = (struct str){item.ptr + search->prefix.len, item.len - search->prefix.len};
        search->count++;
    }
    return false;
}

static enum verify_result find_time(const struct signed_scheme *scheme, struct material *material)
{
    struct time_search search = {.prefix = scheme->time.prefix};
    enum verify_result result;

    if (!scheme->time.item)
        return read_single(&scheme->time.place, material, &material->timestamp);
    result = each_item(scheme, material, note_time, &search);
    if (result != VERIFY_VALID)
        return result;
    material->timestamp = search.found;
    return search.count == 1 ? VERIFY_VALID : VERIFY_BAD;
}

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
    if (scheme->tolerance_us == 0)
        return VERIFY_VALID;
    /* Whole seconds of the sender's clock are compared with whole seconds of ours. */
    if (scheme->time.unit == TIME_S)
        now -= now % 1000000;
    return us < now - scheme->tolerance_us || us > now + scheme->tolerance_us ? VERIFY_STALE
                                                                              : VERIFY_VALID;
}

/* ---- the signature ---- */

struct comparison {
    const struct signed_scheme *scheme;
    size_t size;
    bool found;
    size_t secret;
};

static bool compare_item(void *argument, struct str item)
{
    struct comparison *comparison = argument;
    unsigned char offered[DIGEST_MAX];

    if (!signature_decode(&comparison->scheme->signature, item, offered, comparison->size))
        return false;
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
    result =
        template_feed(scheme, material, secret_reveal(scheme->secrets.items[secret]), digester);
    digester_end(digester, scheme->digests[secret]);
    return result;
}

static enum verify_result judge_signature(struct signed_scheme *scheme, struct material *material,
                                          size_t *secret)
{
    struct comparison comparison = {.scheme = scheme, .size = digest_size(scheme->digest)};
    enum verify_result result = VERIFY_VALID;

    for (size_t i = 0; i < scheme->secrets.count && result == VERIFY_VALID; i++)
        result = compute(scheme, material, i);
    if (result == VERIFY_VALID)
        result = each_item(scheme, material, compare_item, &comparison);
    if (result == VERIFY_VALID && !comparison.found)
        result = VERIFY_BAD;
    if (result == VERIFY_VALID)
        *secret = comparison.secret;
    secret_wipe(scheme->digests, scheme->secrets.count * sizeof(*scheme->digests));
    return result;
}

/* ---- the whole ---- */

/* Whether a header or parameter is there at all; what is in the body is not looked for. */
static bool is_there(const struct request *request, const struct place *place)
{
    struct str value;

    switch (place->kind) {
    case PLACE_HEADER:
        return request_header(request, place->name, &value) > 0;
    case PLACE_HEADER_FAMILY:
        for (size_t i = 0; i < request->header_count; i++)
            if (in_family(request->headers[i].name, place->name))
                return true;
        return false;
    case PLACE_QUERY:
        return request_query(request, place->name, &value) > 0;
    case PLACE_JSON:
        break;
    }
    return true;
}

/* Before anything is computed or parsed: is there all that the scheme reads? */
static bool all_there(const struct signed_scheme *scheme, const struct request *request)
{
    if (!is_there(request, &scheme->signature.place))
        return false;
    if (scheme->time.used && !scheme->time.item && !is_there(request, &scheme->time.place))
        return false;
    for (size_t i = 0; i < scheme->template.count; i++) {
        const struct part *part = &scheme->template.parts[i];

        if (part->kind == PART_HEADER &&
            !is_there(request, &(struct place){PLACE_HEADER, part->text, 0}))
            return false;
        if (part->kind == PART_QUERY &&
            !is_there(request, &(struct place){PLACE_QUERY, part->text, 0}))
            return false;
    }
    return true;
}

static bool read_members(const struct signed_scheme *scheme, struct material *material)
{
    struct json_scan scan;

    return json_scan(material->request->body, scheme->paths, JSON_DEPTH_DEFAULT, &scan,
                     material->values);
}

/* Members of the body are read before the signature is checked only where the scheme signs them:
 * a bounded read of what nobody has vouched for yet. */
static enum verify_result judge(struct signed_scheme *scheme, struct material *material,
                                size_t *secret)
{
    enum verify_result result = VERIFY_VALID;

    if (!all_there(scheme, material->request))
        return VERIFY_MISSING;
    if (scheme->signs_members && !read_members(scheme, material))
        return VERIFY_BAD;
    if (scheme->signs_time)
        result = find_time(scheme, material);
    if (result == VERIFY_VALID)
        result = judge_signature(scheme, material, secret);
    if (result != VERIFY_VALID || !scheme->time.used)
        return result;
    if (scheme->paths && !scheme->signs_members && !read_members(scheme, material))
        return VERIFY_BAD;
    if (!scheme->signs_time && find_time(scheme, material) != VERIFY_VALID)
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
    .compile = signed_compile,
    .judge = signed_judge,
    .sign = signed_sign,
    .free = signed_free,
};
