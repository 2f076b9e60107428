/* Inside config/ only: from lines to members of a snapshot. One thread. */
#ifndef CONFIG_BUILD_H
#define CONFIG_BUILD_H

#include <stdbool.h>

#include "base/mem.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/sections.h"

struct build {
    struct config *config;
    struct arena *arena; /* the snapshot's */
    const char *file;    /* in the arena */
    struct mistakes *mistakes;
    bool without_secrets;
    config_judge *judge; /* NULL: none */
};

/* Stores the value of one line in the key's member of `object` (struct config or struct
 * provider_config); a mistake when it is wrong, and then the member stays 0, and checks that need
 * it are left out. */
void build_member(const struct build *build, const struct entry *entry, void *object);

/* The same with the key's default, if it has one. `line` is the section's. */
void build_default(const struct build *build, const struct key *key, int line, void *object);

/* Whether the key's member is the same in both objects. Not for lists. */
bool build_same(const struct key *key, const void *a, const void *b);

/* Fills a provider from its section, its preset and the defaults, and checks it. */
void build_provider(const struct build *build, const struct section *section,
                    struct provider_config *provider);

#endif
