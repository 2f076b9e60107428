/* The kinds of causes in the order in which they are told, and the short ones among them. */
#include "diagnose/causes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnose/bodies.h"
#include "diagnose/kinds.h"

bool search_tell(struct search *search, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    search->visit(search->argument, text);
    search->found = true;
    free(text);
    return true;
}

/* ---- a header that comes twice ---- */

/* The request with only the n-th of the headers of one name; n counts from 0. */
static struct request keep_one(const struct search *search, struct str name, size_t n)
{
    struct request request = *search->trial.request;
    struct header *headers =
        arena_alloc(search->trial.arena, (request.header_count + 1) * sizeof(*headers));
    size_t count = 0, seen = 0;

    for (size_t i = 0; i < request.header_count; i++)
        if (!str_equal_nocase(request.headers[i].name, name) || seen++ == n)
            headers[count++] = request.headers[i];
    request.headers = headers;
    request.header_count = count;
    return request;
}

bool find_repeated_header(struct search *search)
{
    const struct request *received = search->trial.request;

    for (size_t i = 0; i < received->header_count; i++) {
        struct str name = received->headers[i].name, first;
        size_t times = request_header(received, name, &first);

        if (times < 2 || first.ptr != received->headers[i].value.ptr)
            continue;
        for (size_t n = 0; n < times; n++) {
            struct request request = keep_one(search, name, n);

            if (trial_fits(&search->trial, search->trial.config, &request))
                return search_tell(search,
                                   "the header %.*s comes %zu times, and it may come once: number "
                                   "%zu alone fits; find out what adds the others",
                                   STR_ARG(name), times, n + 1);
        }
    }
    return false;
}

/* ---- the body ---- */

/* Tries all bodies with a section; `more` ends the sentence. */
static bool find_body_with(struct search *search, const struct provider_config *config,
                           const char *more)
{
    const char *what;
    struct str body;

    for (size_t n = 0; bodies_vary(n, search->trial.request, search->trial.arena, &body, &what);
         n++) {
        struct request request = *search->trial.request;

        if (!body.ptr)
            continue;
        request.body = body;
        if (trial_fits(&search->trial, config, &request))
            return search_tell(search, "the signature fits the body %s%s", what, more);
    }
    return false;
}

bool find_body(struct search *search)
{
    return find_body_with(search, search->trial.config, "");
}

/* ---- the secret ---- */

static const char *const encodings[] = {"raw",  "hex",      "base64",      "whsec", "jwk",
                                        "spki", "pem-cert", "ed25519-hex", "whpk"};

static struct str shown(const struct search *search, size_t secret)
{
    return search->trial.config->secret_settings[secret].text;
}

static bool find_encoding(struct search *search, size_t i)
{
    const struct provider_config *config = search->trial.config;

    for (size_t e = 0; e < ARRAY_LEN(encodings); e++) {
        struct secret *secret;
        struct provider_config changed =
            trial_with_secret(&search->trial, secret_reveal(config->secrets[i]), &secret);
        bool fits;

        changed.secret_encoding.text = str_from(encodings[e]);
        fits = !str_is(config->secret_encoding.text, encodings[e]) &&
               trial_fits(&search->trial, &changed, search->trial.request);
        secret_unref(secret);
        if (fits)
            return search_tell(search,
                               "secret %zu (%.*s) fits when it is taken as %s: write "
                               "secret_encoding = %s",
                               i + 1, STR_ARG(shown(search, i)), encodings[e], encodings[e]);
    }
    return false;
}

static struct str unquoted(struct str text)
{
    text = str_trim(text);
    if (text.len >= 2 && (text.ptr[0] == '"' || text.ptr[0] == '\'') &&
        text.ptr[text.len - 1] == text.ptr[0])
        return (struct str){text.ptr + 1, text.len - 2};
    return text;
}

static struct str after(struct str text, char mark)
{
    const char *at = memchr(text.ptr, mark, text.len);

    return at ? unquoted((struct str){at + 1, text.len - (size_t)(at + 1 - text.ptr)}) : text;
}

static struct str behind_equals(struct str text)
{
    return after(text, '=');
}

static struct str behind_colon(struct str text)
{
    return after(text, ':');
}

static struct str first_line(struct str text)
{
    const char *end = memchr(text.ptr, '\n', text.len);

    return end ? str_trim((struct str){text.ptr, (size_t)(end - text.ptr)}) : text;
}

static struct str without_prefix(struct str text)
{
    const char *at = memchr(text.ptr, '_', text.len);

    return at ? (struct str){at + 1, text.len - (size_t)(at + 1 - text.ptr)} : text;
}

static const struct {
    struct str (*edit)(struct str text);
    const char *what;
} edits[] = {
    {str_trim, "without the blanks around it"},
    {unquoted, "without the quotes around it"},
    {behind_equals, "from behind its = on: only the value belongs there"},
    {behind_colon, "from behind its colon on: only the value belongs there"},
    {first_line, "with its first line alone"},
    {without_prefix, "without what stands in front of its _"},
};

static bool find_edit(struct search *search, size_t i)
{
    struct str whole = secret_reveal(search->trial.config->secrets[i]);

    for (size_t e = 0; e < ARRAY_LEN(edits); e++) {
        struct str text = edits[e].edit(whole);
        struct provider_config changed;
        struct secret *secret;
        bool fits;

        if (text.len == 0 || text.len == whole.len)
            continue;
        changed = trial_with_secret(&search->trial, text, &secret);
        fits = trial_fits(&search->trial, &changed, search->trial.request);
        secret_unref(secret);
        if (fits)
            return search_tell(search, "secret %zu (%.*s) fits %s", i + 1,
                               STR_ARG(shown(search, i)), edits[e].what);
    }
    return false;
}

bool find_secret(struct search *search)
{
    for (size_t i = 0; i < search->trial.config->secret_count; i++)
        if (find_encoding(search, i) || find_edit(search, i))
            return true;
    return false;
}

bool find_body_and_secret(struct search *search)
{
    const struct provider_config *config = search->trial.config;

    for (size_t e = 0; e < ARRAY_LEN(encodings); e++) {
        struct provider_config changed =
            TRIAL_WITH(&search->trial, secret_encoding, str_from(encodings[e]));
        char more[80];

        if (str_is(config->secret_encoding.text, encodings[e]))
            continue;
        snprintf(more, sizeof(more), "; and the secret is to be taken as %s: secret_encoding = %s",
                 encodings[e], encodings[e]);
        if (find_body_with(search, &changed, more))
            return true;
    }
    return false;
}

/* ---- the time ---- */

bool find_time_unit(struct search *search)
{
    static const char *const units[] = {"s", "ms", "iso8601"};
    struct str rule = search->trial.config->timestamp.text;

    if (!rule.ptr)
        return false;
    rule = str_trim(rule);
    while (rule.len > 0 && rule.ptr[rule.len - 1] != ' ' && rule.ptr[rule.len - 1] != '\t')
        rule.len--; /* up to the unit */
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        const char *text = arena_printf(search->trial.arena, "%.*s%s", STR_ARG(rule), units[i]);
        struct provider_config changed = TRIAL_WITH(&search->trial, timestamp, str_from(text));

        if (trial_judge(&search->trial, &changed, search->trial.request) == REFUSAL_NONE)
            return search_tell(search, "the time is written in another unit: write timestamp = %s",
                               text);
    }
    return false;
}

/* ---- all of them ---- */

size_t causes_find(const struct provider_config *config, const struct request *request,
                   enum refusal refusal, cause_visitor *visit, void *argument)
{
    static bool (*const kinds[])(struct search *) = {
        find_repeated_header, find_body, find_secret, find_time_unit,
        find_place,           find_url,  find_preset,
    };
    struct search search = {
        .trial = {config, request, arena_new(65536), 0}, .visit = visit, .argument = argument};

    if (refusal == REFUSAL_STALE_TIMESTAMP) {
        find_time_unit(&search);
    } else {
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            kinds[i](&search);
        if (!search.found)
            find_body_and_secret(&search);
    }
    arena_free(search.trial.arena);
    return search.trial.tried;
}
