/* inboxctl: everything an operator types. Reads the options before the command, then hands over to
 * its row of the table. */
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"

#define DEFAULT_CONFIG "/etc/inboxd/inboxd.conf"

/* "--name VALUE" or "--name=VALUE" at argv[*i]; moves *i to the last word taken. NULL: it is
 * another option. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    size_t len = strlen(name);

    if (!argv[*i] || strncmp(argv[*i], name, len) != 0)
        return NULL;
    if (argv[*i][len] == '=')
        return argv[*i] + len + 1;
    return argv[*i][len] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

/* Options that stand before the command. Returns the index of the command's word; or -1 with the
 * exit code, when there is nothing more to do. */
static int read_options(int argc, char **argv, struct context *context, int *code)
{
    const char *value;
    int i;

    *code = EXIT_DONE;
    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--version") == 0) {
            puts("inboxctl " INBOXD_VERSION);
            return -1;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            command_print_list(stdout);
            return -1;
        }
        if ((value = value_of("--config", argc, argv, &i))) {
            context->config_path = value;
        } else if ((value = value_of("--database", argc, argv, &i))) {
            context->database = value;
        } else {
            fprintf(stderr, "inboxctl: unknown option \"%s\"; try: inboxctl --help\n", argv[i]);
            *code = EXIT_USAGE;
            return -1;
        }
    }
    return i;
}

int main(int argc, char **argv)
{
    struct context context = {.config_path = DEFAULT_CONFIG, .out = stdout};
    const struct command *command;
    int code, first = read_options(argc, argv, &context, &code);

    if (first < 0)
        return code;
    if (first >= argc) {
        command_print_list(stderr);
        return EXIT_USAGE;
    }
    command = command_find(argv[first]);
    if (!command) {
        fprintf(stderr, "inboxctl: unknown command \"%s\"; try: inboxctl --help\n", argv[first]);
        return EXIT_USAGE;
    }
    return command->run(&context, argc - first, argv + first);
}
