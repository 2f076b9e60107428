/* Files to snapshots. A snapshot is one arena (texts, lists, providers) and the secrets, which have
 * counts of their own; the last config_unref() frees all of it. The text that was read may hold
 * secrets, so our copy of it is wiped; nothing of a snapshot points into it. */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/seal.h"
#include "config/build.h"
#include "config/ini.h"
#include "config/listen.h"
#include "config/secret_source.h"
#include "config/value.h"

struct snapshot {
    struct config config; /* first: what everybody else points to */
    atomic_uint references;
    struct arena *arena;
};

static void snapshot_free(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->config.provider_count; i++) {
        const struct provider_config *provider = &snapshot->config.providers[i];

        for (size_t k = 0; k < provider->secret_count; k++)
            secret_unref(provider->secrets[k]);
        for (size_t k = 0; k < provider->handshake_token_count; k++)
            secret_unref(provider->handshake_tokens[k]);
    }
    secret_unref(snapshot->config.capture_key);
    arena_free(snapshot->arena);
    free(snapshot);
}

struct config *config_ref(const struct config *config)
{
    struct snapshot *snapshot = (struct snapshot *)config;

    atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    return &snapshot->config;
}

void config_unref(const struct config *config)
{
    struct snapshot *snapshot = (struct snapshot *)config;

    if (snapshot && atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) == 1)
        snapshot_free(snapshot);
}

const struct provider_config *config_provider(const struct config *config, struct str name)
{
    size_t low = 0, high = config->provider_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(name, config->providers[middle].name);

        if (order == 0)
            return &config->providers[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* [inboxd] --------------------------------------------------------------------------------------
 */

static bool same_address(const struct listen_address *a, const struct listen_address *b)
{
    return a->kind == b->kind && str_equal(a->host, b->host) && str_equal(a->path, b->path) &&
           a->port == b->port;
}

static bool same_listen(const struct listen_address *a, const struct listen_address *b)
{
    return same_address(a, b) && a->mode == b->mode && a->proxy_protocol == b->proxy_protocol &&
           a->has_owner == b->has_owner && a->owner == b->owner && a->has_group == b->has_group &&
           a->group == b->group;
}

/* Adds one address; a repeated one is a mistake, since the second could not be bound. */
static void add_listen(const struct build *build, const struct entry *entry, int *lines)
{
    struct config *config = build->config;
    struct listen_address address;
    struct err err = {0};

    if (value_address(entry->value, build->arena, &address, &err) < 0) {
        mistakes_add(build->mistakes, entry->file, entry->line, "listen: %s", err.text);
        return;
    }
    for (size_t i = 0; i < config->listen_count; i++) {
        if (same_address(&config->listens[i], &address) &&
            (address.kind != LISTEN_TCP || address.port != 0)) {
            mistakes_add(build->mistakes, entry->file, entry->line,
                         "listen: this address stands in line %d already; write it once", lines[i]);
            return;
        }
    }
    lines[config->listen_count] = entry->line;
    config->listens[config->listen_count++] = address;
}

#define LISTENS_MAX 64

static void read_listens(const struct build *build, const struct section *section,
                         const struct key *key)
{
    struct entry fallback = {.key = key, .value = str_from(key->default_text), .file = build->file};
    int lines[LISTENS_MAX];

    build->config->listens = arena_alloc(build->arena, LISTENS_MAX * sizeof(struct listen_address));
    for (size_t i = 0; i < section->count; i++) {
        if (section->entries[i].key != key)
            continue;
        if (build->config->listen_count == LISTENS_MAX) {
            mistakes_add(build->mistakes, build->file, section->entries[i].line,
                         "listen: more than %d addresses; write fewer", LISTENS_MAX);
            return;
        }
        add_listen(build, &section->entries[i], lines);
    }
    if (!section_attempted(section, key))
        add_listen(build, &fallback, lines);
}

static void read_capture_key(const struct build *build, const struct entry *entry)
{
    struct secret *text;

    if (build->without_secrets)
        return;
    text = secret_source_read(entry->value, entry->file, entry->line, build->mistakes);
    if (!text)
        return;
    build->config->capture_key = seal_key(secret_reveal(text));
    if (!build->config->capture_key)
        mistakes_add(build->mistakes, entry->file, entry->line,
                     "capture_key: this is not a key of 32 bytes; write 64 hexadecimal digits into "
                     "it, such as openssl rand -hex 32 makes");
    secret_unref(text);
}

static void build_general(const struct build *build, const struct section *section)
{
    for (size_t i = 0; i < key_count; i++) {
        const struct key *key = &key_table[i];
        const struct entry *entry = section_entry(section, key);

        if (key->section != KEY_INBOXD)
            continue;
        if (key->type == KEY_ADDRESS)
            read_listens(build, section, key);
        else if (key->type == KEY_SECRET && entry)
            read_capture_key(build, entry);
        else if (entry)
            build_member(build, entry, build->config);
        else
            build_default(build, key, section->line, build->config);
    }
}

static bool same_listens(const struct config *a, const struct config *b)
{
    if (a->listen_count != b->listen_count)
        return false;
    for (size_t i = 0; i < a->listen_count; i++) {
        if (!same_listen(&a->listens[i], &b->listens[i]))
            return false;
    }
    return true;
}

size_t config_needs_restart(const struct config *running, const struct config *wanted,
                            const char **names, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < key_count && count < max; i++) {
        const struct key *key = &key_table[i];
        bool same;

        if (!(key->flags & KEY_NEEDS_RESTART))
            continue;
        same = key->type == KEY_ADDRESS ? same_listens(running, wanted)
                                        : build_same(key, running, wanted);
        if (!same)
            names[count++] = key->name;
    }
    return count;
}

/* Checks across sections -------------------------------------------------------------------------
 */

/* The line of the first of these keys that was written, or the section's. */
static int line_of(const struct section *section, const char *first, const char *second)
{
    const struct entry *entry = section_entry(section, key_find(KEY_INBOXD, str_from(first)));

    if (!entry)
        entry = section_entry(section, key_find(KEY_INBOXD, str_from(second)));
    return entry ? entry->line : section->line;
}

static void check_database(const struct build *build, const struct section *section)
{
    struct str text = build->config->database;
    int line = line_of(section, "database", "database");

    if (!memchr(text.ptr, '=', text.len) && !str_starts(text, STR("postgresql://")) &&
        !str_starts(text, STR("postgres://")))
        mistakes_add(build->mistakes, build->file, line,
                     "database: not a connection string; write one such as host=/run/postgresql "
                     "dbname=inboxd");
    if (memmem(text.ptr, text.len, "password", 8) && !memmem(text.ptr, text.len, "passfile", 8))
        mistakes_warn(build->mistakes, build->file, line,
                      "database: a password stands in the configuration; passfile=/PATH keeps it "
                      "apart");
}

static void check_module_path(const struct build *build, const struct section *section)
{
    struct str path = build->config->module_path;
    char shown[VALUE_SHOWN_SIZE];

    if (path.len == 0 || path.ptr[0] == '/')
        return;
    value_show(path, shown);
    mistakes_add(build->mistakes, build->file, line_of(section, "module_path", "module_path"),
                 "module_path: %s is not a whole path; write one such as "
                 "/usr/lib/inboxd/modules",
                 shown);
}

/* An id must be known for as long as a copy of its event may come or a deferred event may run. */
static void check_retention(const struct build *build, const struct section *section)
{
    const struct config *config = build->config;
    const struct provider_config *longest = NULL;
    char has[VALUE_TEXT_SIZE], retain[VALUE_TEXT_SIZE], limit[VALUE_TEXT_SIZE],
        least[VALUE_TEXT_SIZE];
    int64_t limit_ms = 0;

    for (size_t i = 0; i < config->provider_count; i++) {
        if (config->providers[i].defer_limit_ms > limit_ms) {
            longest = &config->providers[i];
            limit_ms = longest->defer_limit_ms;
        }
    }
    if (!longest || config->retain_ids_ms == 0 || config->retain_ms == 0 ||
        config->retain_ids_ms >= config->retain_ms + limit_ms)
        return;
    value_format(KEY_DURATION, config->retain_ids_ms, has);
    value_format(KEY_DURATION, config->retain_ms, retain);
    value_format(KEY_DURATION, limit_ms, limit);
    value_format(KEY_DURATION, config->retain_ms + limit_ms, least);
    mistakes_add(build->mistakes, build->file, line_of(section, "retain_ids", "retain"),
                 "retain_ids: %s is shorter than retain, %s, and the defer_limit of [provider "
                 "%.*s], %s, together; write at least %s",
                 has, retain, STR_ARG(longest->name), limit, least);
}

/* A body that the queue cannot hold could never be stored. */
static void check_queue(const struct build *build, const struct section *section)
{
    const struct config *config = build->config;
    const struct provider_config *provider = NULL;
    int64_t largest = config->max_body;
    int line = line_of(section, "queue_max_bytes", "max_body");
    char has[VALUE_TEXT_SIZE], body[VALUE_TEXT_SIZE];

    for (size_t i = 0; i < config->provider_count; i++) {
        if (config->providers[i].max_body > largest) {
            provider = &config->providers[i];
            largest = provider->max_body;
        }
    }
    if (config->queue_max_bytes == 0 || config->queue_max_bytes >= largest)
        return;
    value_format(KEY_SIZE, config->queue_max_bytes, has);
    value_format(KEY_SIZE, largest, body);
    if (provider)
        mistakes_add(
            build->mistakes, build->file, line ? line : provider->line,
            "queue_max_bytes: %s is less than the max_body of [provider %.*s], %s; write at "
            "least %s",
            has, STR_ARG(provider->name), body, body);
    else
        mistakes_add(build->mistakes, build->file, line,
                     "queue_max_bytes: %s is less than max_body, %s; write at least %s", has, body,
                     body);
}

/* Reading ----------------------------------------------------------------------------------------
 */

static void add_provider(const struct build *build, const struct section *section)
{
    struct provider_config *provider = &build->config->providers[build->config->provider_count++];
    size_t errors = mistakes_errors(build->mistakes);

    build_provider(build, section, provider);
    if (build->judge && mistakes_errors(build->mistakes) == errors)
        build->judge(provider, build->mistakes);
}

static void build_all(struct build *build, const struct sections *sections)
{
    const struct section none = {.kind = KEY_INBOXD};
    const struct section *general = &none;
    struct config *config = build->config;
    size_t first = 0;

    if (sections->count && sections->list[0].kind == KEY_INBOXD) {
        general = &sections->list[0];
        first = 1;
    }
    build_general(build, general);
    config->providers =
        arena_alloc(build->arena, (sections->count + 1) * sizeof(struct provider_config));
    for (size_t i = first; i < sections->count; i++)
        add_provider(build, &sections->list[i]);
    check_database(build, general);
    check_module_path(build, general);
    check_retention(build, general);
    check_queue(build, general);
}

/* `text` is changed; `how` says how to read, the rest of it is filled here. */
static struct config *parse(const char *path, char *text, size_t len, struct build how,
                            struct mistakes *mistakes)
{
    struct snapshot *snapshot = mem_alloc(sizeof(*snapshot));
    size_t errors = mistakes_errors(mistakes);
    struct build build = how;
    struct sections sections;

    atomic_init(&snapshot->references, 1);
    build.config = &snapshot->config;
    build.mistakes = mistakes;
    snapshot->arena = build.arena = arena_new(16 * 1024);
    snapshot->config.path = build.file = arena_copy(build.arena, str_from(path)).ptr;
    sections_read(&sections, build.file, text, len, mistakes);
    build_all(&build, &sections);
    sections_release(&sections);
    if (mistakes_errors(mistakes) > errors) {
        snapshot_free(snapshot);
        return NULL;
    }
    if (snapshot->config.provider_count == 0)
        mistakes_warn(mistakes, build.file, 0,
                      "there is no [provider NAME] section: every webhook is answered 404");
    return &snapshot->config;
}

struct config *config_parse(const char *path, struct str text, struct mistakes *mistakes)
{
    char *copy = mem_copy(text);
    struct config *config = parse(path, copy, text.len, (struct build){0}, mistakes);

    secret_wipe(copy, text.len);
    free(copy);
    return config;
}

/* Reads at most `size` bytes. -1: errno says why. */
static ssize_t read_file(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t have = 0;
    ssize_t got = 1;
    int why;

    if (fd < 0)
        return -1;
    while (have < size && got != 0) {
        got = read(fd, bytes + have, size - have);
        if (got < 0 && errno != EINTR)
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    why = errno;
    close(fd);
    errno = why;
    return got < 0 ? -1 : (ssize_t)have;
}

static struct config *read_config(const char *path, struct build how, struct mistakes *mistakes)
{
    size_t size = INI_FILE_MAX + 1;
    char *text = mem_alloc(size);
    struct config *config = NULL;
    ssize_t len = read_file(path, text, size);

    if (len < 0)
        mistakes_add(mistakes, path, 0, "could not read the configuration: %m");
    else
        config = parse(path, text, (size_t)len, how, mistakes);
    secret_wipe(text, size);
    free(text);
    return config;
}

struct config *config_read(const char *path, struct mistakes *mistakes)
{
    return read_config(path, (struct build){0}, mistakes);
}

struct config *config_read_checked(const char *path, config_judge *judge, struct mistakes *mistakes)
{
    return read_config(path, (struct build){.judge = judge}, mistakes);
}

struct config *config_read_without_secrets(const char *path, struct mistakes *mistakes)
{
    return read_config(path, (struct build){.without_secrets = true}, mistakes);
}
