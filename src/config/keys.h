/* The table of keys: one row for each setting there is. The parser, "did you mean", `inboxctl
 * check`, the sample file and the manual page follow from it or are tested against it. Constant,
 * any thread. */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The sections a file may have: [inboxd] once, [provider NAME] for each provider. */
enum key_section { KEY_INBOXD, KEY_PROVIDER };

enum key_type {
    KEY_COUNT,     /* digits; int */
    KEY_SIZE,      /* digits and K, M or G (1024 times each); int64_t bytes */
    KEY_DURATION,  /* digits and ms, s, m, h or d; int64_t milliseconds */
    KEY_WORD,      /* one of `words`; an enum */
    KEY_ADDRESS,   /* struct listen_address, an array */
    KEY_TEXT,      /* struct str */
    KEY_SETTING,   /* struct setting: text that is compiled elsewhere */
    KEY_BACKOFF,   /* struct backoff */
    KEY_TOLERANCE, /* struct tolerance */
    KEY_BOUNDS,    /* struct quarantine_bounds: rows, bytes and, optionally, rows a minute */
    KEY_NAMES,     /* struct name_list */
    KEY_NETWORKS,  /* struct network_list */
    KEY_RATE,      /* struct rate */
    KEY_SECRET,    /* a reference to a secret, an array */
    KEY_ACTIONS,   /* struct route_config, an array; the key may have a pattern as argument */
};

enum key_flags {
    KEY_NEEDS_RESTART = 1, /* a reload says so and leaves it as it was */
    KEY_REPEATABLE = 2,    /* each line adds one */
    KEY_REQUIRED = 4,
    KEY_COMPUTED = 8,   /* default_text is for people, config.c computes it */
    KEY_MAY_EMPTY = 16, /* an empty value unsets it, also where a preset sets it */
    KEY_PATTERN = 32,   /* takes an argument */
};

struct key_word {
    const char *word; /* NULL ends the list */
    int value;
};

struct key {
    const char *name;
    enum key_section section;
    enum key_type type;
    const char *default_text; /* as one would write it; NULL: none */
    const char *help;         /* one line, a full sentence */
    int64_t min, max;         /* numbers: in the member's unit */
    const struct key_word *words;
    unsigned flags;
    size_t member; /* offset in struct config or struct provider_config; 0 where the type is handled
                      apart (address, secret, actions) */
};

#define KEYS_MAX 128

extern const struct key key_table[];
extern const size_t key_count;

/* NULL: there is none of that name in that section. */
const struct key *key_find(enum key_section section, struct str name);

/* The key of that section whose name is nearest to what was written, or NULL where none is near. */
const struct key *key_nearest(enum key_section section, struct str name);

/* "inboxd" or "provider". */
const char *key_section_text(enum key_section section);

/* "count", "size" and so on, as the manual page calls it. */
const char *key_type_text(enum key_type type);

/* How many insertions, deletions, replacements and swaps of neighbours make `a` into `b`; letters
 * count without case, '-' as '_'. SIZE_MAX when one is longer than 64 bytes. */
size_t key_distance(struct str a, struct str b);

/* Whether something that far from a name of that length is worth naming. */
bool key_is_near(size_t distance, size_t len);

#endif
