/* Presets: the files config/presets/NAME.conf, compiled into the program. Each holds keys of a
 * [provider NAME] section that say how one service signs and names its events; `verify = NAME`
 * takes them as defaults. Constant, any thread. */
#ifndef CONFIG_PRESETS_H
#define CONFIG_PRESETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct preset {
    struct str name; /* without ".conf" */
    struct str text; /* the file, comments included */
};

size_t presets_count(void);
/* In the order of their names. */
struct preset presets_get(size_t i);

/* Whether there is one of that name; sets *preset if so. */
bool presets_find(struct str name, struct preset *preset);

/* What it is a preset of: the text of its first line, which is a comment. */
struct str preset_title(const struct preset *preset);
/* The scheme behind it: the value of its `verify`. ptr NULL: it has none. */
struct str preset_scheme(const struct preset *preset);

/* The generic schemes that this version verifies, as `verify` names them; ends with NULL. */
extern const char *const verify_schemes[];

#endif
