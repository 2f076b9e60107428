/* The lines of a configuration file, sorted into its sections and joined with the table of keys:
 * the middle step between form (config/ini.h) and meaning (config/config.c). Finds unknown and
 * repeated sections and keys. One thread. */
#ifndef CONFIG_SECTIONS_H
#define CONFIG_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "config/keys.h"
#include "config/mistakes.h"

/* One line `key = value`. The texts are borrowed from what was read. */
struct entry {
    const struct key *key;
    struct str argument; /* the pattern of `on PATTERN`; ptr NULL: none */
    struct str value;
    const char *file;
    int line;
    bool commented; /* a comment stood behind it */
};

struct section {
    enum key_section kind;
    struct str name; /* of a provider; ptr NULL for [inboxd] */
    int line;
    struct entry *entries; /* in the order of the lines */
    size_t count, size;
    /* For each row of key_table: a line for it stood there, right or wrong (`on PATTERN` lines do
     * not count). */
    bool attempted[KEYS_MAX];
};

struct sections {
    struct section *list; /* [inboxd] first, then providers by name (bytes) */
    size_t count, size;
};

/* Reads `text`, which is changed in place and has to outlive the result. Sections and keys that
 * are mistakes are left out. Always succeeds, with what is usable. */
void sections_read(struct sections *sections, const char *file, char *text, size_t len,
                   struct mistakes *mistakes);

/* The same for a text without section headers, whose keys are all of `kind`. */
void sections_read_bare(struct sections *sections, enum key_section kind, const char *file,
                        char *text, size_t len, struct mistakes *mistakes);
void sections_release(struct sections *sections);

/* Whether a line for that key stood there, usable or not. */
bool section_attempted(const struct section *section, const struct key *key);

/* The first usable line of that key; NULL: there is none. */
const struct entry *section_entry(const struct section *section, const struct key *key);

#endif
