/* A [provider NAME] section: what the section says over what its preset says over the defaults,
 * then the checks that need more than one line. Lines that could not be used were reported where
 * they were read; a key that stood in such a line is not reported as missing too. */
#include <stdlib.h>

#include "base/buf.h"
#include "config/build.h"
#include "config/names.h"
#include "config/presets.h"
#include "config/secret_source.h"
#include "config/value.h"

#define SECRETS_MAX 16
#define SECRET_GOOD_LEN 16 /* bytes; less is worth a warning */

/* What the checks share. */
struct check {
    const struct build *build;
    const struct section *section;
    struct provider_config *provider;
};

static const struct entry *line_of(const struct check *check, const char *name)
{
    return section_entry(check->section, key_find(KEY_PROVIDER, str_from(name)));
}

static bool attempted(const struct check *check, const char *name)
{
    return section_attempted(check->section, key_find(KEY_PROVIDER, str_from(name)));
}

static bool is_scheme(struct str verify)
{
    for (size_t i = 0; verify_schemes[i]; i++)
        if (str_is(verify, verify_schemes[i]))
            return true;
    return false;
}

static size_t schemes_count(void)
{
    size_t count = 0;

    while (verify_schemes[count])
        count++;
    return count;
}

/* Presets and schemes as one list. */
static struct str verify_name(size_t i)
{
    return i < presets_count() ? presets_get(i).name
                               : str_from(verify_schemes[i - presets_count()]);
}

/* The preset or scheme whose name is nearest; ptr NULL: none is near. */
static struct str nearest_verify(struct str written)
{
    struct str nearest = STR_NONE;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < presets_count() + schemes_count(); i++) {
        struct str name = verify_name(i);
        size_t distance = key_distance(written, name);

        if (distance < least && key_is_near(distance, name.len)) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

static void unknown_verify(const struct check *check, const struct entry *verify)
{
    struct str nearest = nearest_verify(verify->value);
    struct buf list;
    char shown[VALUE_SHOWN_SIZE];

    value_show(verify->value, shown);
    if (nearest.ptr) {
        mistakes_add(check->build->mistakes, verify->file, verify->line,
                     "verify: there is no preset or scheme %s; did you mean %.*s?", shown,
                     STR_ARG(nearest));
        return;
    }
    buf_init(&list, BUF_NO_CAP);
    for (size_t i = 0; i < schemes_count(); i++)
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", verify_schemes[i]);
    mistakes_add(
        check->build->mistakes, verify->file, verify->line,
        "verify: there is no preset or scheme %s; write a preset, which `inboxctl presets` "
        "lists, or a scheme: %.*s",
        shown, STR_ARG(buf_str(&list)));
    buf_release(&list);
}

/* Reads the preset that `verify` names, if it names one: where a scheme has the same name, the
 * preset is that scheme with all that goes with it. `text` is what the sections point into. */
static bool read_preset(const struct check *check, const struct entry *verify,
                        struct sections *sections, char **text)
{
    const struct build *build = check->build;
    struct preset preset;

    if (!verify)
        return true;
    if (!presets_find(verify->value, &preset)) {
        if (is_scheme(verify->value))
            return true;
        unknown_verify(check, verify);
        return false;
    }
    check->provider->preset = arena_copy(build->arena, preset.name);
    *text = mem_copy(preset.text);
    sections_read_bare(sections, KEY_PROVIDER,
                       arena_printf(build->arena, "preset %.*s", STR_ARG(preset.name)), *text,
                       preset.text.len, build->mistakes);
    return true;
}

/* All members that are one value. */
static void fill_members(const struct check *check, const struct section *preset)
{
    for (size_t i = 0; i < key_count; i++) {
        const struct key *key = &key_table[i];
        const struct entry *ours, *theirs;

        if (key->section != KEY_PROVIDER || !key->member)
            continue;
        ours = section_entry(check->section, key);
        theirs = preset ? section_entry(preset, key) : NULL;
        /* A section's `verify` has named the preset; what it is, the preset says. */
        if (theirs && (!ours || str_is(str_from(key->name), "verify")))
            build_member(check->build, theirs, check->provider);
        else if (ours)
            build_member(check->build, ours, check->provider);
        else
            build_default(check->build, key, check->section->line, check->provider);
    }
}

/* A sender that documents a size may use it, and many do not send again what was refused. */
static void check_max_body(const struct check *check, const struct section *preset)
{
    const struct key *key = key_find(KEY_PROVIDER, STR("max_body"));
    const struct entry *ours = section_entry(check->section, key);
    const struct entry *theirs = preset ? section_entry(preset, key) : NULL;
    struct err err = {0};
    int64_t wanted, limit;

    if (!ours || !theirs || value_number(key, ours->value, &wanted, &err) < 0 ||
        value_number(key, theirs->value, &limit, &err) < 0 || wanted >= limit)
        return;
    mistakes_warn(check->build->mistakes, ours->file, ours->line,
                  "max_body: %.*s is less than the %.*s that this provider may send (preset %.*s); "
                  "what is larger is refused with 413, and lost where it is not sent again",
                  STR_ARG(ours->value), STR_ARG(theirs->value), STR_ARG(check->provider->preset));
}

/* The answer has to come before the provider gives up, and never later than [inboxd] allows. */
static void fill_ack_timeout(const struct check *check)
{
    struct provider_config *provider = check->provider;
    const struct entry *ours = line_of(check, "ack_timeout");
    int64_t most = check->build->config->ack_timeout_ms;
    char limit[VALUE_TEXT_SIZE], wanted[VALUE_TEXT_SIZE];

    if (ours && most && provider->ack_timeout_ms > most) {
        value_format(KEY_DURATION, most, limit);
        value_format(KEY_DURATION, provider->ack_timeout_ms, wanted);
        mistakes_warn(check->build->mistakes, ours->file, ours->line,
                      "ack_timeout: %s is longer than the %s of [inboxd], which count", wanted,
                      limit);
    }
    if (provider->ack_timeout_ms == 0 || provider->ack_timeout_ms > most)
        provider->ack_timeout_ms = most;
}

static size_t lines_of(const struct section *section, const struct key *key)
{
    size_t lines = 0;

    for (size_t i = 0; i < section->count; i++)
        lines += section->entries[i].key == key;
    return lines;
}

static void warn_of_comment(const struct check *check, const struct entry *entry)
{
    if (entry->commented && str_starts(entry->value, STR("text:")))
        mistakes_warn(check->build->mistakes, entry->file, entry->line,
                      "secret: what follows \" ;\" is a comment; put the value in quotes where "
                      "it is part of the secret");
}

/* All lines of a key that names secrets. `settings` may be NULL. Returns how many were read. */
static size_t read_secrets(const struct check *check, const char *name, struct secret ***secrets,
                           struct setting **settings)
{
    const struct build *build = check->build;
    const struct key *key = key_find(KEY_PROVIDER, str_from(name));
    const struct section *section = check->section;
    size_t lines = lines_of(section, key), count = 0;

    if (build->without_secrets || lines == 0)
        return 0;
    *secrets = arena_alloc(build->arena, lines * sizeof(struct secret *));
    if (settings)
        *settings = arena_alloc(build->arena, lines * sizeof(struct setting));
    for (size_t i = 0; i < section->count; i++) {
        const struct entry *entry = &section->entries[i];
        struct secret *secret;

        if (entry->key != key)
            continue;
        warn_of_comment(check, entry);
        secret = secret_source_read(entry->value, entry->file, entry->line, build->mistakes);
        if (!secret)
            continue;
        if (settings)
            (*settings)[count] = (struct setting){
                .text = arena_copy(build->arena, secret_source_shown(entry->value)),
                .file = entry->file,
                .line = entry->line,
            };
        (*secrets)[count++] = secret;
    }
    return count;
}

static void read_routes(const struct check *check)
{
    const struct build *build = check->build;
    struct provider_config *provider = check->provider;
    const struct section *section = check->section;
    size_t lines = 0;

    for (size_t i = 0; i < section->count; i++)
        lines += section->entries[i].key->type == KEY_ACTIONS;
    provider->routes = arena_alloc(build->arena, (lines + 1) * sizeof(struct route_config));
    for (size_t i = 0; i < section->count; i++) {
        const struct entry *entry = &section->entries[i];

        if (entry->key->type != KEY_ACTIONS)
            continue;
        provider->routes[provider->route_count++] = (struct route_config){
            .pattern = {arena_copy(build->arena, entry->argument), entry->file, entry->line},
            .actions = {arena_copy(build->arena, entry->value), entry->file, entry->line},
        };
    }
}

static void missing(const struct check *check, const char *key, const char *right)
{
    mistakes_add(check->build->mistakes, check->build->file, check->section->line,
                 "[provider %.*s] has no %s; write %s", STR_ARG(check->section->name), key, right);
}

static void check_required(const struct check *check)
{
    if (!attempted(check, "verify"))
        missing(check, "verify", "verify = PRESET, verify = hmac-sha256, or verify = none");
    if (!check->provider->event_id.text.ptr && !attempted(check, "event_id"))
        missing(check, "event_id", "where the id is, such as event_id = body:/id");
    if (!attempted(check, "on"))
        missing(check, "plain on", "what to do with an event, such as on = sql:SCHEMA.FUNCTION");
}

/* One that a handshake hands over comes later, where it can be kept. */
static void check_no_secret(const struct check *check)
{
    const struct build *build = check->build;
    const struct provider_config *provider = check->provider;

    if (!provider->captures_secret)
        missing(check, "secret", "secret = file:/PATH, env:NAME or credential:NAME");
    else if (!build->config->capture_key && !build->without_secrets)
        mistakes_warn(build->mistakes, build->file, check->section->line,
                      "[provider %.*s] has no secret and cannot get one: every request is refused; "
                      "write capture_key = file:/PATH in [inboxd], or secret = file:/PATH",
                      STR_ARG(provider->name));
}

/* Somebody who has written how requests are signed believes that it is looked at. */
static void check_none(const struct check *check)
{
    static const char *const keys[] = {"secret", "signature", "signed", "timestamp"};
    bool shakes = check->provider->handshake.text.ptr; /* it may use the secret */

    for (size_t i = shakes ? 1 : 0; i < ARRAY_LEN(keys); i++) {
        const struct entry *entry = line_of(check, keys[i]);

        if (entry && entry->value.len > 0)
            mistakes_add(check->build->mistakes, entry->file, entry->line,
                         "%s: verify = none accepts every request and does not use it; take this "
                         "line away, or write how requests are verified",
                         keys[i]);
    }
}

static void check_secrets(const struct check *check)
{
    const struct provider_config *provider = check->provider;
    bool none = str_is(provider->verify.text, "none");
    bool raw = str_is(provider->secret_encoding.text, "raw");

    if (none)
        check_none(check);
    if (!none && provider->verify.text.ptr && !attempted(check, "secret"))
        check_no_secret(check);
    if (provider->secret_count > SECRETS_MAX)
        mistakes_add(check->build->mistakes, provider->secret_settings[SECRETS_MAX].file,
                     provider->secret_settings[SECRETS_MAX].line,
                     "secret: more than %d; take away those that are no longer used", SECRETS_MAX);
    for (size_t i = 0; i < provider->secret_count; i++)
        if (secret_source_is_folder(provider->secret_settings[i].text) &&
            !str_is(provider->verify.text, "sns"))
            mistakes_add(check->build->mistakes, provider->secret_settings[i].file,
                         provider->secret_settings[i].line,
                         "secret: a folder is for the certificates of verify = sns; name a file");
    for (size_t i = 0; raw && !none && i < provider->secret_count; i++) {
        size_t len = secret_len(provider->secrets[i]);

        if (len < SECRET_GOOD_LEN)
            mistakes_warn(check->build->mistakes, provider->secret_settings[i].file,
                          provider->secret_settings[i].line,
                          "secret: it has %zu bytes; a good one has %d or more", len,
                          SECRET_GOOD_LEN);
    }
}

static void check_order(const struct check *check)
{
    struct provider_config *provider = check->provider;
    const struct entry *order = line_of(check, "order");
    bool key = provider->key.text.ptr;

    if (!order && provider->order == ORDER_NONE)
        provider->order = key ? ORDER_SERIAL : ORDER_NONE;
    else if (order && provider->order != ORDER_NONE && !key)
        mistakes_add(check->build->mistakes, order->file, order->line,
                     "order: there is no key to order by; write key = SOURCE, or order = none");
}

/* A machine's entities are ordering keys, and its transitions are by event type. */
static void check_machine(const struct check *check)
{
    const struct provider_config *provider = check->provider;
    const struct setting *machine = &provider->machine;

    if (machine->text.ptr && !provider->key.text.ptr)
        mistakes_add(check->build->mistakes, machine->file, machine->line,
                     "machine: there is no key, which says what entity an event is about; write "
                     "key = SOURCE");
    if (machine->text.ptr && !provider->event_type.text.ptr)
        mistakes_add(check->build->mistakes, machine->file, machine->line,
                     "machine: there is no event_type, by which a machine moves on; write "
                     "event_type = SOURCE");
}

static void check_routes(const struct check *check)
{
    const struct provider_config *provider = check->provider;

    for (size_t i = 0; i < provider->route_count; i++) {
        const struct setting *pattern = &provider->routes[i].pattern;

        if (!pattern->text.ptr || provider->event_type.text.ptr)
            continue;
        mistakes_add(check->build->mistakes, pattern->file, pattern->line,
                     "on %.*s: there is no event_type to choose by; write event_type = SOURCE",
                     STR_ARG(pattern->text));
        return;
    }
}

/* What {url} stands for: as the provider has it, never rebuilt from a request. */
static void check_url(const struct check *check)
{
    const struct setting *url = &check->provider->public_url;
    struct str rest = url->text;
    char shown[VALUE_SHOWN_SIZE];
    size_t scheme = str_starts(rest, STR("https://"))  ? 8
                    : str_starts(rest, STR("http://")) ? 7
                                                       : 0;

    if (!rest.ptr)
        return;
    value_show(rest, shown);
    if (scheme == 0 || rest.len == scheme || rest.ptr[scheme] == '/' ||
        memchr(rest.ptr, ' ', rest.len) || memchr(rest.ptr, '\t', rest.len) ||
        memchr(rest.ptr, '?', rest.len) || memchr(rest.ptr, '#', rest.len))
        mistakes_add(check->build->mistakes, url->file, url->line,
                     "public_url: %s is not an address without a query; write https://HOST/PATH as "
                     "the provider was given it",
                     shown);
}

static void check_times(const struct check *check)
{
    const struct provider_config *provider = check->provider;
    const struct entry *defer = line_of(check, "defer"), *tolerance = line_of(check, "tolerance");
    const struct entry *leeway = line_of(check, "leeway");
    char limit[VALUE_TEXT_SIZE], wait[VALUE_TEXT_SIZE];

    if (!defer)
        defer = line_of(check, "defer_limit");
    if (defer && provider->defer_limit_ms && provider->defer_ms > provider->defer_limit_ms) {
        value_format(KEY_DURATION, provider->defer_limit_ms, limit);
        value_format(KEY_DURATION, provider->defer_ms, wait);
        mistakes_add(check->build->mistakes, defer->file, defer->line,
                     "%s: a wait of %s is longer than the limit of %s; write defer at most as long "
                     "as defer_limit",
                     defer->key->name, wait, limit);
    }
    if (leeway && !str_is(provider->verify.text, "jwt"))
        mistakes_warn(check->build->mistakes, leeway->file, leeway->line,
                      "leeway: without verify = jwt it is not used");
    if (tolerance && !provider->timestamp.text.ptr)
        mistakes_warn(check->build->mistakes, tolerance->file, tolerance->line,
                      "tolerance: without a timestamp it is not used");
}

void build_provider(const struct build *build, const struct section *section,
                    struct provider_config *provider)
{
    struct check check = {build, section, provider};
    const struct entry *verify = line_of(&check, "verify");
    struct sections preset = {0};
    char *preset_text = NULL;
    bool known;

    provider->name = arena_copy(build->arena, section->name);
    provider->file = build->file;
    provider->line = section->line;
    known = read_preset(&check, verify, &preset, &preset_text);
    fill_members(&check, preset.count ? &preset.list[0] : NULL);
    if (!line_of(&check, "max_body") && provider->max_body == 0)
        provider->max_body = build->config->max_body;
    provider->redact = names_join(&build->config->redact, &provider->redact, build->arena);
    check_max_body(&check, preset.count ? &preset.list[0] : NULL);
    fill_ack_timeout(&check);
    provider->module_path = build->config->module_path;
    if (!line_of(&check, "concurrency"))
        provider->concurrency = build->config->workers > 2 ? build->config->workers - 1 : 1;
    provider->secret_count =
        read_secrets(&check, "secret", &provider->secrets, &provider->secret_settings);
    provider->handshake_token_count =
        read_secrets(&check, "handshake_token", &provider->handshake_tokens, NULL);
    provider->captures_secret = value_captures(provider->handshake.text);
    read_routes(&check);
    check_secrets(&check);
    check_url(&check);
    if (known) { /* otherwise a preset might have brought what seems to be missing */
        check_required(&check);
        check_order(&check);
        check_machine(&check);
        check_routes(&check);
        check_times(&check);
    }
    sections_release(&preset);
    free(preset_text);
}
