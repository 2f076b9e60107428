/* The commands of inboxctl: one row each. Help, the manual page's list and dispatch come from the
 * table. */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Exit codes, after sysexits.h where it has one. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* the thing asked for was refused or not found */
    EXIT_CANNOT_TELL = 2,  /* `verify`: there is nothing that could be judged */
    EXIT_USAGE = 64,       /* the command line is wrong */
    EXIT_UNREACHABLE = 69, /* the database or the daemon does not answer */
    EXIT_BAD_CONFIG = 78,  /* the configuration has mistakes */
};

/* What stands before the command. */
struct context {
    const char *config_path;
    const char *database; /* connection string of --database; NULL: the configuration's */
    bool json;
    FILE *out;
};

struct option_help {
    const char *name; /* "--count N" */
    const char *help;
};

struct command {
    const char *name;
    const char *arguments;             /* "ID...", for the usage line */
    const char *summary;               /* one line */
    const struct option_help *options; /* ends with a NULL name; may be NULL */
    /* argv[0] is the command's name. Returns an exit code; prints its own messages to standard
     * error. */
    int (*run)(const struct context *context, int argc, char **argv);
};

extern const struct command commands[]; /* ends with a NULL name */

const struct command *command_find(const char *name);
void command_print_help(const struct command *command, FILE *out); /* of one command */
void command_print_list(FILE *out);                                /* of the program */

/* Prints "inboxctl: NAME: text" and how to get help; returns EXIT_USAGE. */

int command_usage(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
