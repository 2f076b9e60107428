/* What is wrong with a configuration: a list that readers add to, so that a user sees all of it at
 * once. One thread. */
#ifndef CONFIG_MISTAKES_H
#define CONFIG_MISTAKES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct mistakes;

struct mistake {
    const char *file;
    int line;         /* 0: the file as a whole */
    bool warning;     /* the file can be used all the same */
    const char *text; /* what is wrong and what would be right; never the value of a secret */
};

struct mistakes *mistakes_new(void);
void mistakes_free(struct mistakes *mistakes); /* takes NULL */
/* What looks like a secret in the text is replaced (config/conceal.h): whatever was pasted into the
 * wrong line. */
void mistakes_add(struct mistakes *mistakes, const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void mistakes_warn(struct mistakes *mistakes, const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

size_t mistakes_count(const struct mistakes *mistakes);  /* all, warnings included */
size_t mistakes_errors(const struct mistakes *mistakes); /* without warnings */
/* In the order of the file's lines. Borrowed. */
const struct mistake *mistakes_get(const struct mistakes *mistakes, size_t i);

#endif
