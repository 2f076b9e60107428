/* Another place for the signature, written in another way, made with another digest: every header
 * and parameter that could hold one is tried as `signature =`. */
#include <string.h>

#include "diagnose/kinds.h"

#define PREFIX_MAX 8

static const char *const algorithms[] = {"hmac-sha256", "hmac-sha1", "hmac-sha512"};

/* Headers of HTTP, of clients and of proxies: they hold no signature. */
static bool is_ordinary(struct str name)
{
    static const char *const names[] = {
        "host",        "user-agent", "accept",       "accept-encoding",   "accept-language",
        "connection",  "date",       "via",          "content-type",      "content-length",
        "forwarded",   "expect",     "te",           "transfer-encoding", "content-encoding",
        "traceparent", "tracestate", "cache-control"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_equal_nocase(name, str_from(names[i])))
            return true;
    return false;
}

struct candidate {
    struct search *search;
    const char *place; /* header:NAME or query:NAME */
    struct str value;
};

static bool try_rule(const struct candidate *candidate, const char *rule)
{
    struct search *search = candidate->search;
    struct provider_config changed = TRIAL_WITH(&search->trial, signature, str_from(rule));
    bool keyed = str_starts(changed.verify.text, STR("hmac-"));

    if (trial_fits(&search->trial, &changed, search->trial.request))
        return search_tell(search, "another signature of the request fits: write signature = %s",
                           rule);
    for (size_t i = 0; keyed && i < ARRAY_LEN(algorithms); i++) {
        if (str_is(search->trial.config->verify.text, algorithms[i]))
            continue;
        changed.verify.text = str_from(algorithms[i]);
        if (trial_fits(&search->trial, &changed, search->trial.request))
            return search_tell(search,
                               "another signature of the request fits: write verify = %s and "
                               "signature = %s",
                               algorithms[i], rule);
    }
    return false;
}

/* What an item begins with, such as "v1=" or "sha256=": up to its first mark, of which base64 has
 * some at its end only. */
static struct str prefix_of(struct str item)
{
    for (size_t i = 0; i < item.len && i <= PREFIX_MAX; i++) {
        char c = item.ptr[i];

        if (c == '=' || c == ',' || c == ':')
            return (struct str){item.ptr, i + 1};
        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
            break;
    }
    return STR_NONE;
}

static bool try_item(const struct candidate *candidate, const char *split, struct str item)
{
    static const char *const encodings[] = {"hex", "base64", "base64url"};
    struct arena *arena = candidate->search->trial.arena;
    struct str prefix = prefix_of(item);

    if (item.len < 20)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(encodings); i++)
        if (try_rule(candidate,
                     arena_printf(arena, "%s%s%s%s%.*s %s", candidate->place,
                                  *split ? " split " : "", split, prefix.ptr ? " prefix " : "",
                                  STR_ARG(prefix), encodings[i])))
            return true;
    return false;
}

/* The value as one item, and as a list. */
static bool try_value(const struct candidate *candidate)
{
    static const struct {
        const char *name;
        char mark;
    } splits[] = {{"comma", ','}, {"space", ' '}, {"semicolon", ';'}};

    if (try_item(candidate, "", candidate->value))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(splits); i++) {
        struct str rest = candidate->value;

        while (rest.len > 0) {
            const char *end = memchr(rest.ptr, splits[i].mark, rest.len);
            struct str item = {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len};

            if (item.len < candidate->value.len &&
                try_item(candidate, splits[i].name, str_trim(item)))
                return true;
            rest.ptr += item.len + (end ? 1 : 0);
            rest.len -= item.len + (end ? 1 : 0);
        }
    }
    return false;
}

/* A token stands in a header as it is, or behind a word such as Bearer. */
static bool try_token(const struct candidate *candidate)
{
    const char *blank = memchr(candidate->value.ptr, ' ', candidate->value.len);
    struct arena *arena = candidate->search->trial.arena;

    if (try_rule(candidate, candidate->place))
        return true;
    return blank && blank - candidate->value.ptr <= PREFIX_MAX &&
           try_rule(candidate,
                    arena_printf(arena, "%s prefix %.*s", candidate->place,
                                 (int)(blank - candidate->value.ptr), candidate->value.ptr));
}

static bool try_place(struct search *search, const char *kind, struct str name, struct str value)
{
    struct str verify = search->trial.config->verify.text;
    struct candidate candidate = {
        search, arena_printf(search->trial.arena, "%s:%.*s", kind, STR_ARG(name)), value};

    if (value.len < 8 || value.len > 4096)
        return false;
    if (str_is(verify, "token") || str_is(verify, "jwt"))
        return try_token(&candidate);
    return try_value(&candidate);
}

/* The signature where it is expected, made with another digest. */
static bool find_algorithm(struct search *search)
{
    struct str verify = search->trial.config->verify.text;

    for (size_t i = 0; str_starts(verify, STR("hmac-")) && i < ARRAY_LEN(algorithms); i++) {
        struct provider_config changed =
            TRIAL_WITH(&search->trial, verify, str_from(algorithms[i]));

        if (!str_is(verify, algorithms[i]) &&
            trial_fits(&search->trial, &changed, search->trial.request))
            return search_tell(search, "the signature fits with verify = %s", algorithms[i]);
    }
    return false;
}

bool find_place(struct search *search)
{
    const struct request *request = search->trial.request;
    struct str rest = request->query;

    if (!search->trial.config->signature.text.ptr)
        return false; /* a kind with a place of its own */
    if (find_algorithm(search))
        return true;
    for (size_t i = 0; i < request->header_count; i++)
        if (!is_ordinary(request->headers[i].name) &&
            request_names_header(request->headers[i].name) &&
            try_place(search, "header", request->headers[i].name, request->headers[i].value))
            return true;
    while (rest.ptr && rest.len > 0) {
        const char *end = memchr(rest.ptr, '&', rest.len);
        struct str pair = {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len};
        const char *equals = memchr(pair.ptr, '=', pair.len);

        if (equals && !memchr(pair.ptr, ' ', pair.len) &&
            try_place(search, "query", (struct str){pair.ptr, (size_t)(equals - pair.ptr)},
                      (struct str){equals + 1, pair.len - (size_t)(equals + 1 - pair.ptr)}))
            return true;
        rest.ptr += pair.len + (end ? 1 : 0);
        rest.len -= pair.len + (end ? 1 : 0);
    }
    return false;
}
