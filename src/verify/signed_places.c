/* What the template scheme reads from a request: where the offered signatures are, the timestamp,
 * and whether it is all there, once where it has to be single. */
#include "verify/signed.h"

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

/* Visits the items of one place. */
static enum verify_result visit_place(const struct signature_rule *rule, struct material *material,
                                      signature_visitor *visit, void *argument)
{
    const struct request *request = material->request;
    enum verify_result result;
    bool any = false;
    struct str value;

    if (rule->place.kind != PLACE_HEADER_FAMILY && !rule->repeat) {
        result = read_single(&rule->place, material, &value);
        if (result == VERIFY_VALID)
            signature_items(rule, value, visit, argument);
        return result;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        struct str name = request->headers[i].name;

        if (rule->place.kind == PLACE_HEADER_FAMILY ? !in_family(name, rule->place.name)
                                                    : !str_equal_nocase(name, rule->place.name))
            continue;
        any = true;
        if (signature_items(rule, request->headers[i].value, visit, argument))
            break;
    }
    return any ? VERIFY_VALID : VERIFY_MISSING;
}

/* All places are looked at, also when one has fitted: a second one that is ambiguous still spoils
 * the request. */
enum verify_result places_visit(const struct signed_scheme *scheme, struct material *material,
                                signature_visitor *visit, void *argument)
{
    enum verify_result all = VERIFY_MISSING;

    for (size_t i = 0; i < scheme->signature_count; i++) {
        enum verify_result result = visit_place(&scheme->signatures[i], material, visit, argument);

        if (result == VERIFY_BAD)
            return VERIFY_BAD;
        if (result == VERIFY_VALID)
            all = VERIFY_VALID;
    }
    return all;
}

/* ---- the timestamp ---- */

struct time_search {
    struct str prefix, found;
    size_t count;
};

static bool note_time(void *argument, const struct signature_rule *rule, struct str item)
{
    struct time_search *search = argument;

    (void)rule;
    if (str_starts(item, search->prefix)) {
        search->found = (struct str){item.ptr + search->prefix.len, item.len - search->prefix.len};
        search->count++;
    }
    return false;
}

enum verify_result places_time(const struct signed_scheme *scheme, struct material *material)
{
    struct time_search search = {.prefix = scheme->time.prefix};
    enum verify_result result;

    if (!scheme->time.item)
        return read_single(&scheme->time.place, material, &material->timestamp);
    result = places_visit(scheme, material, note_time, &search);
    if (result != VERIFY_VALID)
        return result;
    material->timestamp = search.found;
    return search.count == 1 ? VERIFY_VALID : VERIFY_BAD;
}

/* ---- what is there ---- */

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

static bool signature_is_there(const struct signed_scheme *scheme, const struct request *request)
{
    for (size_t i = 0; i < scheme->signature_count; i++)
        if (is_there(request, &scheme->signatures[i].place))
            return true;
    return false;
}

bool places_all_there(const struct signed_scheme *scheme, const struct request *request)
{
    if (!signature_is_there(scheme, request))
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

bool places_members(const struct signed_scheme *scheme, struct material *material)
{
    struct json_scan scan;

    return json_scan(material->request->body, scheme->paths, JSON_DEPTH_DEFAULT, &scan,
                     material->values);
}
