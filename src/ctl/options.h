/* Options and positional words of one command: "--name VALUE", "--name=VALUE", "--flag", "--" ends
 * them. Unknown options are refused with what would be right. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct option_spec {
    const char *name; /* without dashes */
    enum { OPTION_FLAG, OPTION_TEXT, OPTION_COUNT, OPTION_DURATION } type;
    union {
        bool *flag;
        const char **text;
        int64_t *number; /* COUNT: as it is; DURATION: milliseconds */
    } to;
};

/* Moves the positional words to the front of argv[1..]; *words counts them. -1 after printing what
 * is wrong. `specs` ends with a NULL name. "--help" prints the command's help and exits. */
int options_parse(const char *command, const struct option_spec *specs, int argc, char **argv,
                  int *words);

/* A whole number without sign; -1 when it is none or does not fit. */
int options_number(const char *text, int64_t *number);
/* "90s", "15m", "36h", "7d", "250ms" into milliseconds; -1 when it is none. */
int options_duration(const char *text, int64_t *ms);

#endif
