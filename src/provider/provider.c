/* A provider's section, compiled: its scheme, its sources with all their pointers in one set, so
 * that a body is scanned once. */
#include "provider/provider.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/codec.h"
#include "provider/encoding.h"
#include "provider/identity.h"
#include "provider/parts.h"
#include "provider/signed_body.h"

/* ---- compiling ---- */

struct compiler {
    const struct provider_config *config;
    struct mistakes *mistakes;
};

/* Which setting of the section a mistake of the scheme belongs to. */
static const struct setting *setting_of(const struct provider_config *config,
                                        enum verify_field field, size_t index)
{
    switch (field) {
    case VERIFY_ALGORITHM:
        return &config->verify;
    case VERIFY_SIGNATURE:
        return &config->signature;
    case VERIFY_TIMESTAMP:
        return &config->timestamp;
    case VERIFY_SIGNED:
        return &config->signed_template;
    case VERIFY_SECRET:
        return index < config->secret_count ? &config->secret_settings[index] : NULL;
    case VERIFY_SECRET_ENCODING:
        return &config->secret_encoding;
    case VERIFY_PUBLIC_URL:
        return &config->public_url;
    case VERIFY_VARS:
        return &config->vars;
    case VERIFY_BODY_UNAUTHENTICATED:
        return &config->body_unauthenticated;
    case VERIFY_ALGORITHMS:
        return &config->algorithms;
    case VERIFY_CLAIMS:
        return &config->claims;
    }
    return NULL;
}

static const char *name_of(enum verify_field field)
{
    static const char *const names[] = {[VERIFY_ALGORITHM] = "verify",
                                        [VERIFY_SIGNATURE] = "signature",
                                        [VERIFY_TIMESTAMP] = "timestamp",
                                        [VERIFY_SIGNED] = "signed",
                                        [VERIFY_SECRET] = "secret",
                                        [VERIFY_SECRET_ENCODING] = "secret_encoding",
                                        [VERIFY_PUBLIC_URL] = "public_url",
                                        [VERIFY_VARS] = "vars",
                                        [VERIFY_BODY_UNAUTHENTICATED] = "body_unauthenticated",
                                        [VERIFY_ALGORITHMS] = "algorithms",
                                        [VERIFY_CLAIMS] = "claims"};

    return names[field];
}

static void note_mistake(void *argument, enum verify_field field, size_t index, const char *text)
{
    const struct compiler *compiler = argument;
    const struct provider_config *config = compiler->config;
    const struct setting *setting = setting_of(config, field, index);
    const char *file = config->file;
    int line = config->line;

    if (setting && setting->line > 0) {
        file = setting->file;
        line = setting->line;
    }
    mistakes_add(compiler->mistakes, file, line, "provider \"%.*s\": %s %s", STR_ARG(config->name),
                 name_of(field), text);
}

/* A secret that nobody knows, so that nothing verifies until the provider's own is there. */
static struct secret *unknown_secret(void)
{
    unsigned char random[32];
    char text[CODEC_HEX_SIZE(sizeof(random))];
    struct secret *secret;

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort();
    codec_hex_encode(random, sizeof(random), text);
    secret = secret_new(str_from(text));
    secret_wipe(text, sizeof(text));
    secret_wipe(random, sizeof(random));
    return secret;
}

static struct verify_scheme *compile_scheme(const struct provider_config *config,
                                            const struct secret *captured,
                                            struct mistakes *mistakes)
{
    struct secret *unknown = unknown_secret();
    bool own = config->secret_count > 0 || !config->captures_secret;
    struct compiler compiler = {config, mistakes};
    struct str *secrets = mem_alloc((config->secret_count + 1) * sizeof(*secrets));
    struct verify_spec spec = {
        .algorithm = config->verify.text,
        .signature = config->signature.text,
        .timestamp = config->timestamp.text,
        .signed_template = config->signed_template.text,
        .secret_encoding = config->secret_encoding.text,
        .public_url = config->public_url.text,
        .vars = config->vars.text,
        .body_unauthenticated = config->body_unauthenticated.text,
        .algorithms = config->algorithms.text,
        .claims = config->claims.text,
        .tolerance = config->tolerance,
        .leeway_ms = config->leeway_ms,
        .secrets = secrets,
        .secret_count = own ? config->secret_count : 1,
    };
    struct verify_scheme *scheme;

    for (size_t i = 0; i < config->secret_count; i++)
        secrets[i] = secret_reveal(config->secrets[i]);
    if (!own)
        secrets[0] = secret_reveal(captured ? captured : unknown);
    scheme = verify_scheme_new(&spec, note_mistake, &compiler);
    free(secrets);
    secret_unref(unknown);
    return scheme;
}

/* Whether bodies never have JSON. */
static bool is_only_raw(const struct provider *provider)
{
    return provider->format.plain == FORMAT_RAW && !provider->format.form;
}

/* What a preset reads out of bodies is of no use to a section that says format = raw, and no
 * mistake of that section's. */
static bool is_left_behind(const struct provider *provider, const struct setting *setting)
{
    return is_only_raw(provider) && str_starts(str_from(setting->file), STR("preset "));
}

static const struct source *compile_source(struct provider *provider, const char *key,
                                           const struct setting *setting, struct mistakes *mistakes,
                                           bool *failed)
{
    const struct source *source;
    struct err err = {0};

    if (!setting->text.ptr)
        return NULL;
    source = source_new(setting->text, &provider->scope, provider->arena, &err);
    if (is_left_behind(provider, setting) && (!source || source_reads_attributes(source)))
        return NULL;
    if (!source) {
        mistakes_add(mistakes, setting->file, setting->line, "provider \"%.*s\": %s: %s",
                     STR_ARG(provider->config->name), key, err.text);
        *failed = true;
    } else if (source_reads_attributes(source) && provider->format.plain != FORMAT_CLOUDEVENTS) {
        mistakes_add(mistakes, setting->file, setting->line,
                     "provider \"%.*s\": %s: ce: is of CloudEvents; write format = cloudevents",
                     STR_ARG(provider->config->name), key);
        *failed = true;
    }
    return source;
}

static bool mistake(const struct provider *provider, const struct setting *setting,
                    struct mistakes *mistakes, const char *key, const char *text)
{
    mistakes_add(mistakes, setting->file, setting->line, "provider \"%.*s\": %s: %s",
                 STR_ARG(provider->config->name), key, text);
    return false;
}

/* A batch is an array; which requests are one, their Content-Type says. */
static bool compile_cloudevents(struct provider *provider, struct mistakes *mistakes)
{
    const struct provider_config *config = provider->config;
    struct err err = {0};

    if (config->split.text.ptr)
        return mistake(provider, &config->split, mistakes, "split",
                       "with format = cloudevents the Content-Type says which requests hold "
                       "several events; take it away");
    if (split_parse(STR("body:"), &provider->split, &provider->scope, provider->arena, &err) < 0)
        return mistake(provider, &config->format, mistakes, "format", err.text);
    for (size_t i = 0; i < CLOUDEVENT_REQUIRED; i++) {
        const char *text = arena_printf(provider->arena, "ce:%s", cloudevent_required[i]);

        provider->required[i] = source_new(str_from(text), &provider->scope, provider->arena, &err);
        if (!provider->required[i])
            return mistake(provider, &config->format, mistakes, "format", err.text);
    }
    return true;
}

/* Without JSON there is nothing to split, whatever a preset says. */
static bool compile_format(struct provider *provider, struct mistakes *mistakes)
{
    const struct provider_config *config = provider->config;
    struct err err = {0};

    if (format_parse(config->format.text, &provider->format, &err) < 0)
        return mistake(provider, &config->format, mistakes, "format", err.text);
    if (provider->format.plain == FORMAT_CLOUDEVENTS && !compile_cloudevents(provider, mistakes))
        return false;
    if (config->split.text.ptr && !is_only_raw(provider) &&
        split_parse(config->split.text, &provider->split, &provider->scope, provider->arena, &err) <
            0)
        return mistake(provider, &config->split, mistakes, "split", err.text);
    if (config->reply.text.ptr && reply_parse(config->reply.text, &provider->reply, &err) < 0)
        return mistake(provider, &config->reply, mistakes, "reply", err.text);
    provider->reply.content_type = arena_copy(provider->arena, provider->reply.content_type);
    return true;
}

/* An identity that no event has, or that all events of a request share. */
static bool check_event_id(const struct provider *provider, struct mistakes *mistakes)
{
    const struct setting *setting = &provider->config->event_id;

    if (is_only_raw(provider) && source_needs_body(provider->event_id))
        return mistake(provider, setting, mistakes, "event_id",
                       "with format = raw a body has no members; write header:NAME, query:NAME or "
                       "sha256");
    if (provider->scope.splits && !source_tells_events_apart(provider->event_id))
        return mistake(provider, setting, mistakes, "event_id",
                       "with split all events of a request would have the same one, and only the "
                       "first would be stored; each alternative has to have a body:/POINTER of the "
                       "event, or sha256");
    return true;
}

static bool compile_paths(struct provider *provider, struct mistakes *mistakes)
{
    const struct provider_config *config = provider->config;
    struct err err = {0};

    for (size_t level = 0; level < SCOPE_LEVELS; level++) {
        const struct pointer_list *list = &provider->scope.lists[level];

        if (list->count == 0)
            continue;
        provider->paths[level] = json_paths_new(list->texts, list->count, &err);
        if (!provider->paths[level]) {
            mistakes_add(mistakes, config->file, config->line, "provider \"%.*s\": %s",
                         STR_ARG(config->name), err.text);
            return false;
        }
    }
    return true;
}

static bool compile_signed_body(struct provider *provider, struct mistakes *mistakes)
{
    const struct provider_config *config = provider->config;
    const struct setting *setting = &config->signed_body;
    struct err err = {0};

    if (signed_body_parse(setting->text, &provider->signs_inflated, &err) == 0 &&
        provider->signs_inflated && str_is(config->verify.text, "none"))
        err_set(&err, ERR_INPUT, "is not used with verify = none; take it away");
    if (err.kind == ERR_NONE)
        return true;
    mistakes_add(mistakes, setting->file, setting->line, "provider \"%.*s\": signed_body %s",
                 STR_ARG(config->name), err.text);
    return false;
}

static bool compile_sources(struct provider *provider, struct mistakes *mistakes)
{
    const struct provider_config *config = provider->config;
    bool failed = false;

    provider->event_id = compile_source(provider, "event_id", &config->event_id, mistakes, &failed);
    provider->event_type =
        compile_source(provider, "event_type", &config->event_type, mistakes, &failed);
    provider->event_time =
        compile_source(provider, "event_time", &config->event_time, mistakes, &failed);
    provider->key = compile_source(provider, "key", &config->key, mistakes, &failed);
    if (!failed && !provider->event_id) {
        mistakes_add(
            mistakes, config->file, config->line,
            "provider \"%.*s\": event_id is missing; write, for example, event_id = body:/id",
            STR_ARG(config->name));
        failed = true;
    }
    identity_check(config, provider->event_id, mistakes);
    return !failed && check_event_id(provider, mistakes) && compile_paths(provider, mistakes);
}

struct provider *provider_new(const struct provider_config *config, struct mistakes *mistakes)
{
    return provider_new_captured(config, NULL, mistakes);
}

struct provider *provider_new_captured(const struct provider_config *config,
                                       const struct secret *captured, struct mistakes *mistakes)
{
    struct provider *provider = mem_alloc(sizeof(*provider));
    bool signs = !str_is(config->verify.text, "none"), well;

    provider->config = config;
    provider->arena = arena_new(1024);
    provider->uses = arena_alloc(provider->arena, (config->secret_count + 1) * sizeof(int64_t));
    buf_init(&provider->headers, BUF_NO_CAP);
    well = compile_format(provider, mistakes);
    well = compile_sources(provider, mistakes) && well;
    well = compile_signed_body(provider, mistakes) && well;
    well = routes_compile(config, provider->arena, &provider->routes, mistakes) && well;
    if (signs)
        provider->scheme = compile_scheme(config, captured, mistakes);
    provider->handshakes = handshakes_new(config, mistakes);
    if (well && provider->handshakes && (provider->scheme || !signs))
        return provider;
    provider_free(provider);
    return NULL;
}

void provider_free(struct provider *provider)
{
    if (!provider)
        return;
    verify_scheme_free(provider->scheme);
    handshakes_free(provider->handshakes);
    for (size_t level = 0; level < SCOPE_LEVELS; level++)
        json_paths_free(provider->paths[level]);
    buf_release(&provider->headers);
    arena_free(provider->arena);
    free(provider);
}

const struct provider_config *provider_config(const struct provider *provider)
{
    return provider->config;
}

const struct reply *provider_reply(const struct provider *provider)
{
    return &provider->reply;
}

const struct handshakes *provider_handshakes(const struct provider *provider)
{
    return provider->handshakes;
}

/* ---- reading ---- */

enum refusal provider_verify(struct provider *provider, const struct request *request,
                             bool *verified)
{
    provider->matched = provider->config->secret_count;
    if (!provider->scheme) {
        *verified = false;
        return REFUSAL_NONE;
    }
    if (provider->signs_inflated && encoding_of(request) != ENCODING_NONE)
        return signed_body_verify(provider, request, verified);
    return provider_judge(provider, request, verified);
}

struct str provider_matched(const struct provider *provider)
{
    const struct provider_config *config = provider->config;

    return provider->matched < config->secret_count
               ? secret_reveal(config->secrets[provider->matched])
               : STR_NONE;
}

enum refusal provider_read(struct provider *provider, const struct request *request,
                           struct arena *arena, struct provider_events *events)
{
    bool verified = false;
    enum refusal refusal = provider_verify(provider, request, &verified);

    return refusal != REFUSAL_NONE ? refusal
                                   : provider_parse(provider, request, verified, arena, events);
}

void provider_explain(struct provider *provider, const struct request *request, verify_tell *tell,
                      void *argument)
{
    if (provider->scheme)
        verify_explain(provider->scheme, request, tell, argument);
}

int64_t provider_take_uses(struct provider *provider, size_t secret)
{
    int64_t count = provider->uses[secret];

    provider->uses[secret] = 0;
    return count;
}

int provider_sign(struct provider *provider, struct request *request, int64_t age_s, bool bad,
                  struct arena *arena, struct header *headers, size_t max_headers, size_t *count,
                  struct err *err)
{
    *count = 0;
    if (!provider->scheme)
        return 0;
    return verify_sign(provider->scheme, request, age_s, bad, arena, headers, max_headers, count,
                       err);
}
