/* One value, one member. The only place that knows how the types of the table are laid out in the
 * structs. */
#include "config/build.h"

#include <string.h>

#include "config/access.h"
#include "config/names.h"
#include "config/value.h"

static void wrong(const struct build *build, const struct entry *entry, const struct err *err)
{
    mistakes_add(build->mistakes, entry->file, entry->line, "%s: %s", entry->key->name, err->text);
}

static void store_number(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    int64_t number;
    int small;

    if (value_number(entry->key, entry->value, &number, &err) < 0) {
        wrong(build, entry, &err);
    } else if (entry->key->type == KEY_COUNT) {
        small = (int)number; /* max is far below INT_MAX */
        memcpy(member, &small, sizeof(small));
    } else {
        memcpy(member, &number, sizeof(number));
    }
}

static void store_word(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    int word;

    _Static_assert(sizeof(enum order) == sizeof(int), "words are stored as int");
    if (value_word(entry->key, entry->value, &word, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &word, sizeof(word));
}

static void store_backoff(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct backoff backoff;

    if (value_backoff(entry->key, entry->value, &backoff, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &backoff, sizeof(backoff));
}

static void store_bounds(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct quarantine_bounds bounds;

    if (value_bounds(entry->value, &bounds, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &bounds, sizeof(bounds));
}

static void store_tolerance(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct tolerance tolerance;

    if (value_tolerance(entry->key, entry->value, &tolerance, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &tolerance, sizeof(tolerance));
}

static void store_text(const struct build *build, const struct entry *entry, char *member)
{
    struct str text = arena_copy(build->arena, entry->value);

    memcpy(member, &text, sizeof(text));
}

/* An empty value unsets, but its place is kept. */
static void store_setting(const struct build *build, const struct entry *entry, char *member)
{
    struct setting setting = {.file = entry->file, .line = entry->line};

    if (entry->value.len > 0)
        setting.text = arena_copy(build->arena, entry->value);
    memcpy(member, &setting, sizeof(setting));
}

static void store_networks(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct network_list networks;

    if (value_networks(entry->key, entry->value, build->arena, &networks, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &networks, sizeof(networks));
}

static void store_names(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct name_list names;

    if (value_names(entry->value, build->arena, &names, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &names, sizeof(names));
}

static void store_rate(const struct build *build, const struct entry *entry, char *member)
{
    struct err err = {0};
    struct rate rate;

    if (value_rate(entry->value, &rate, &err) < 0)
        wrong(build, entry, &err);
    else
        memcpy(member, &rate, sizeof(rate));
}

void build_member(const struct build *build, const struct entry *entry, void *object)
{
    char *member = (char *)object + entry->key->member;

    switch (entry->key->type) {
    case KEY_COUNT:
    case KEY_SIZE:
    case KEY_DURATION:
        store_number(build, entry, member);
        break;
    case KEY_WORD:
        store_word(build, entry, member);
        break;
    case KEY_TEXT:
        store_text(build, entry, member);
        break;
    case KEY_SETTING:
        store_setting(build, entry, member);
        break;
    case KEY_BACKOFF:
        store_backoff(build, entry, member);
        break;
    case KEY_BOUNDS:
        store_bounds(build, entry, member);
        break;
    case KEY_TOLERANCE:
        store_tolerance(build, entry, member);
        break;
    case KEY_NAMES:
        store_names(build, entry, member);
        break;
    case KEY_NETWORKS:
        store_networks(build, entry, member);
        break;
    case KEY_RATE:
        store_rate(build, entry, member);
        break;
    case KEY_ADDRESS:
    case KEY_SECRET:
    case KEY_ACTIONS:
        break; /* lists: whoever owns the list reads them */
    }
}

void build_default(const struct build *build, const struct key *key, int line, void *object)
{
    struct entry entry = {.key = key, .file = build->file, .line = line};

    if (!key->default_text || (key->flags & KEY_COMPUTED))
        return;
    entry.value = str_from(key->default_text);
    build_member(build, &entry, object);
}

static bool same_setting(const struct setting *a, const struct setting *b)
{
    return !a->text.ptr == !b->text.ptr && str_equal(a->text, b->text);
}

static bool same_bounds(const struct quarantine_bounds *a, const struct quarantine_bounds *b)
{
    return a->rows == b->rows && a->bytes == b->bytes && a->per_minute == b->per_minute;
}

bool build_same(const struct key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->member, *y = (const char *)b + key->member;

    switch (key->type) {
    case KEY_COUNT:
    case KEY_WORD:
        return memcmp(x, y, sizeof(int)) == 0;
    case KEY_SIZE:
    case KEY_DURATION:
        return memcmp(x, y, sizeof(int64_t)) == 0;
    case KEY_TEXT:
        return str_equal(*(const struct str *)(const void *)x,
                         *(const struct str *)(const void *)y);
    case KEY_SETTING:
        return same_setting((const void *)x, (const void *)y);
    case KEY_BACKOFF:
        return memcmp(x, y, sizeof(struct backoff)) == 0;
    case KEY_BOUNDS:
        return same_bounds((const void *)x, (const void *)y);
    case KEY_TOLERANCE:
        return memcmp(x, y, sizeof(struct tolerance)) == 0;
    case KEY_ADDRESS:
    case KEY_NAMES:
    case KEY_NETWORKS:
    case KEY_RATE:
    case KEY_SECRET:
    case KEY_ACTIONS:
        break; /* lists: whoever owns the list compares them */
    }
    return true;
}
