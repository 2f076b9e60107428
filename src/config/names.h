/* Lists of header names, as one setting has them. Pure functions, any thread. */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include "base/err.h"
#include "base/mem.h"
#include "config/config.h"

/* KEY_NAMES: names separated by commas, copied into `arena`; errors as in config/value.h. */
int value_names(struct str text, struct arena *arena, struct name_list *names,
                struct err *err) MUST_CHECK;

/* Both lists as one, in `arena`; borrows the names. */
struct name_list names_join(const struct name_list *a, const struct name_list *b,
                            struct arena *arena);

/* Letters count without case. */
bool names_have(const struct name_list *names, struct str name);

#endif
