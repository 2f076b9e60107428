/* Sorting lines into sections. A section whose header is wrong still takes the lines below it, so
 * that they are judged too, but it is thrown away in the end. Repeats are found by sorting, so that
 * the time is bounded by the file's length times its logarithm. */
#include "config/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/ini.h"
#include "config/value.h"

struct reading {
    struct sections *sections;
    const char *file;
    struct mistakes *mistakes;
    struct section current; /* being filled */
    bool open;              /* `current` has a header */
    bool usable;            /* and the header is right */
    bool known;             /* and its kind is known, so that its keys can be judged */
    bool lost_said;         /* keys above the first header have been reported */
};

/* The section is complete: it goes into the list. */
static void close_section(struct reading *reading)
{
    struct sections *sections = reading->sections;

    if (!reading->open)
        return;
    reading->open = false;
    if (!reading->usable) {
        free(reading->current.entries);
        return;
    }
    if (sections->count == sections->size) {
        sections->size = sections->size ? sections->size * 2 : 8;
        sections->list = mem_resize(sections->list, sections->size * sizeof(*sections->list));
    }
    sections->list[sections->count++] = reading->current;
}

static bool is_provider_name(struct str name)
{
    if (name.len == 0 || name.len > 63)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool start = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!start && (i == 0 || !(c == '_' || c == '.' || c == '-')))
            return false;
    }
    return true;
}

static bool check_provider_name(const struct reading *reading, const struct ini_line *line)
{
    char shown[VALUE_SHOWN_SIZE];

    if (!line->argument.ptr) {
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "the provider's name is missing; write [provider NAME]");
        return false;
    }
    if (!is_provider_name(line->argument)) {
        value_show(line->argument, shown);
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s cannot be a provider's name; write 1 to 63 of a-z, 0-9, _, . and -, the "
                     "first a letter or digit",
                     shown);
        return false;
    }
    return true;
}

static void unknown_section(const struct reading *reading, const struct ini_line *line)
{
    char shown[VALUE_SHOWN_SIZE];
    struct str name = line->name;
    const char *meant = "there are [inboxd] and [provider NAME]";

    if (key_is_near(key_distance(name, STR("inboxd")), 6))
        meant = "did you mean [inboxd]?";
    else if (key_is_near(key_distance(name, STR("provider")), 8))
        meant = "did you mean [provider NAME]?";
    value_show(name, shown);
    mistakes_add(reading->mistakes, reading->file, line->line, "unknown section %s; %s", shown,
                 meant);
}

static void open_section(struct reading *reading, const struct ini_line *line)
{
    close_section(reading);
    reading->current = (struct section){.kind = KEY_INBOXD, .line = line->line};
    reading->open = true;
    reading->known = true;
    reading->usable = true;
    if (str_is(line->name, "inboxd")) {
        if (line->argument.ptr) {
            mistakes_add(reading->mistakes, reading->file, line->line,
                         "[inboxd] takes no name; write [inboxd]");
            reading->usable = false;
        }
    } else if (str_is(line->name, "provider")) {
        reading->current.kind = KEY_PROVIDER;
        reading->current.name = line->argument;
        reading->usable = check_provider_name(reading, line);
    } else {
        unknown_section(reading, line);
        reading->known = false;
        reading->usable = false;
    }
}

static void unknown_key(const struct reading *reading, const struct ini_line *line)
{
    enum key_section kind = reading->current.kind;
    enum key_section other = kind == KEY_INBOXD ? KEY_PROVIDER : KEY_INBOXD;
    const struct key *near = key_nearest(kind, line->name);
    char shown[VALUE_SHOWN_SIZE];

    value_show(line->name, shown);
    if (key_find(other, line->name))
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s is no key of [%s]; it belongs in %s", shown, key_section_text(kind),
                     other == KEY_INBOXD ? "[inboxd]" : "a [provider NAME] section");
    else if (near)
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "unknown key %s in [%s]; did you mean %s?", shown, key_section_text(kind),
                     near->name);
    else
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "unknown key %s in [%s]; inboxd.conf(5) lists them", shown,
                     key_section_text(kind));
}

static bool check_argument(const struct reading *reading, const struct key *key,
                           const struct ini_line *line)
{
    const char *star;
    char shown[VALUE_SHOWN_SIZE];

    if (!line->argument.ptr)
        return true;
    value_show(line->argument, shown);
    if (!(key->flags & KEY_PATTERN)) {
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s takes nothing before \"=\"; write %s = VALUE", key->name, key->name);
        return false;
    }
    star = memchr(line->argument.ptr, '*', line->argument.len);
    if (line->argument.len == 1 && star) {
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s *: for all other events write %s = ACTION", key->name, key->name);
        return false;
    }
    if (memchr(line->argument.ptr, ' ', line->argument.len) ||
        memchr(line->argument.ptr, '\t', line->argument.len) ||
        (star && star != line->argument.ptr + line->argument.len - 1)) {
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s: the pattern %s is neither an event type nor the beginning of one; write "
                     "one word, which may end with one *",
                     key->name, shown);
        return false;
    }
    return true;
}

static void add_entry(struct reading *reading, const struct key *key, const struct ini_line *line)
{
    struct section *section = &reading->current;

    if (section->count == section->size) {
        section->size = section->size ? section->size * 2 : 16;
        section->entries = mem_resize(section->entries, section->size * sizeof(struct entry));
    }
    section->entries[section->count++] = (struct entry){
        .key = key,
        .argument = line->argument,
        .value = line->value,
        .file = reading->file,
        .line = line->line,
        .commented = line->commented,
    };
}

static bool has_hash_comment(struct str value)
{
    for (size_t i = 1; i < value.len; i++)
        if (value.ptr[i] == '#' && (value.ptr[i - 1] == ' ' || value.ptr[i - 1] == '\t'))
            return true;
    return false;
}

static void take_key(struct reading *reading, const struct ini_line *line)
{
    const struct key *key;

    if (!reading->open) {
        if (!reading->lost_said)
            mistakes_add(reading->mistakes, reading->file, line->line,
                         "a setting before the first section; write [inboxd] above it");
        reading->lost_said = true;
        return;
    }
    if (!reading->known)
        return;
    key = key_find(reading->current.kind, line->name);
    if (!key) {
        unknown_key(reading, line);
        return;
    }
    if (!line->argument.ptr)
        reading->current.attempted[key - key_table] = true;
    if (!check_argument(reading, key, line))
        return;
    if (line->value.len == 0 && !(key->flags & KEY_MAY_EMPTY)) {
        mistakes_add(reading->mistakes, reading->file, line->line,
                     "%s has no value; write one, or take the line away", key->name);
        return;
    }
    if (!line->quoted && has_hash_comment(line->value))
        mistakes_warn(reading->mistakes, reading->file, line->line,
                      "%s: \" #\" is part of the value; begin a comment with \" ;\", or put the "
                      "value in quotes",
                      key->name);
    add_entry(reading, key, line);
}

/* By key, pattern and line. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
    int order = (x->key > y->key) - (x->key < y->key);

    if (!order)
        order = str_compare(x->argument, y->argument);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Lines that may stand once and stand again. Patterns are several keys. */
static void find_repeats(const struct section *section, const char *file, struct mistakes *mistakes)
{
    const struct entry **sorted = mem_alloc((section->count + 1) * sizeof(const struct entry *));
    const struct entry *first = NULL;

    for (size_t i = 0; i < section->count; i++)
        sorted[i] = &section->entries[i];
    qsort(sorted, section->count, sizeof(const struct entry *), compare_entries);
    for (size_t i = 0; i < section->count; i++) {
        const struct entry *entry = sorted[i];
        bool many = (entry->key->flags & KEY_REPEATABLE) && !(entry->key->flags & KEY_PATTERN);

        if (!first || first->key != entry->key || !str_equal(first->argument, entry->argument))
            first = entry;
        else if (!many)
            mistakes_add(mistakes, file, entry->line,
                         "%s%s%.*s stands in line %d already; write it once", entry->key->name,
                         entry->argument.ptr ? " " : "", STR_ARG(entry->argument), first->line);
    }
    free(sorted);
}

static int compare_sections(const void *a, const void *b)
{
    const struct section *x = a, *y = b;
    int order = (int)x->kind - (int)y->kind;

    if (!order)
        order = str_compare(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sorts, and takes out what stands again. */
static void sort_sections(struct sections *sections, const char *file, struct mistakes *mistakes)
{
    size_t kept = 0;

    if (sections->count)
        qsort(sections->list, sections->count, sizeof(*sections->list), compare_sections);
    for (size_t i = 0; i < sections->count; i++) {
        struct section *section = &sections->list[i];
        const struct section *first = kept ? &sections->list[kept - 1] : NULL;

        find_repeats(section, file, mistakes);
        if (first && first->kind == section->kind && str_equal(first->name, section->name)) {
            mistakes_add(mistakes, file, section->line,
                         "[%s%s%.*s] stands in line %d already; write its keys there",
                         key_section_text(section->kind), section->name.ptr ? " " : "",
                         STR_ARG(section->name), first->line);
            free(section->entries);
        } else {
            sections->list[kept++] = *section;
        }
    }
    sections->count = kept;
}

void sections_read(struct sections *sections, const char *file, char *text, size_t len,
                   struct mistakes *mistakes)
{
    struct reading reading = {.sections = sections, .file = file, .mistakes = mistakes};
    struct ini ini;
    struct ini_line line;

    *sections = (struct sections){0};
    ini_init(&ini, file, text, len, mistakes);
    while (ini_next(&ini, &line)) {
        if (line.kind == INI_SECTION)
            open_section(&reading, &line);
        else
            take_key(&reading, &line);
    }
    close_section(&reading);
    sort_sections(sections, file, mistakes);
}

void sections_read_bare(struct sections *sections, enum key_section kind, const char *file,
                        char *text, size_t len, struct mistakes *mistakes)
{
    struct reading reading = {.sections = sections,
                              .file = file,
                              .mistakes = mistakes,
                              .current = {.kind = kind},
                              .open = true,
                              .usable = true,
                              .known = true};
    struct ini ini;
    struct ini_line line;

    *sections = (struct sections){0};
    ini_init(&ini, file, text, len, mistakes);
    while (ini_next(&ini, &line)) {
        if (line.kind == INI_SECTION)
            mistakes_add(mistakes, file, line.line,
                         "a preset has no sections; write its keys only");
        else
            take_key(&reading, &line);
    }
    close_section(&reading);
    sort_sections(sections, file, mistakes);
}

void sections_release(struct sections *sections)
{
    for (size_t i = 0; i < sections->count; i++)
        free(sections->list[i].entries);
    free(sections->list);
    *sections = (struct sections){0};
}

bool section_attempted(const struct section *section, const struct key *key)
{
    return section->attempted[key - key_table];
}

const struct entry *section_entry(const struct section *section, const struct key *key)
{
    for (size_t i = 0; i < section->count; i++)
        if (section->entries[i].key == key)
            return &section->entries[i];
    return NULL;
}
