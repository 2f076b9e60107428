/* Option parsing for commands, by a table of specs. getopt_long would do, but it cannot say what
 * would be right. */
#include "ctl/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "ctl/command.h"

int options_number(const char *text, int64_t *number)
{
    int64_t value = 0;

    if (!*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (INT64_MAX - 9) / 10)
            return -1;
        value = value * 10 + (*text - '0');
    }
    *number = value;
    return 0;
}

int options_duration(const char *text, int64_t *ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    size_t digits = strspn(text, "0123456789");
    char number[20];
    int64_t value;

    if (digits == 0 || digits >= sizeof(number))
        return -1;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (options_number(number, &value) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strcmp(text + digits, units[i].unit) == 0 && value <= INT64_MAX / units[i].ms) {
            *ms = value * units[i].ms;
            return 0;
        }
    }
    return -1;
}

static const struct option_spec *find_spec(const struct option_spec *specs, const char *name,
                                           size_t len)
{
    for (; specs->name; specs++)
        if (strlen(specs->name) == len && memcmp(specs->name, name, len) == 0)
            return specs;
    return NULL;
}

static int unknown_option(const char *command, const struct option_spec *specs, const char *word)
{
    fprintf(stderr, "inboxctl: %s: unknown option \"%s\"; it takes", command, word);
    if (!specs->name)
        fprintf(stderr, " none");
    for (; specs->name; specs++)
        fprintf(stderr, " --%s", specs->name);
    fputc('\n', stderr);
    return -1;
}

static int set_option(const char *command, const struct option_spec *spec, const char *value)
{
    switch (spec->type) {
    case OPTION_FLAG:
        if (value)
            return command_usage(command, "--%s takes no value", spec->name), -1;
        *spec->to.flag = true;
        return 0;
    case OPTION_TEXT:
        *spec->to.text = value;
        return 0;
    case OPTION_COUNT:
        if (options_number(value, spec->to.number) < 0)
            return command_usage(command, "--%s wants a whole number, not \"%s\"", spec->name,
                                 value),
                   -1;
        return 0;
    case OPTION_DURATION:
        if (options_duration(value, spec->to.number) < 0)
            return command_usage(command,
                                 "--%s wants a duration such as 90s, 15m, 36h or 7d, not \"%s\"",
                                 spec->name, value),
                   -1;
        return 0;
    }
    return -1;
}

static void help_and_exit(const char *command)
{
    command_print_help(command_find(command), stdout);
    exit(EXIT_DONE); /* NOLINT(concurrency-mt-unsafe) */
}

int options_parse(const char *command, const struct option_spec *specs, int argc, char **argv,
                  int *words)
{
    bool only_words = false;

    *words = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '='), *value;
        const struct option_spec *spec;

        if (only_words || strncmp(word, "--", 2) != 0) {
            argv[1 + (*words)++] = argv[i];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_words = true;
            continue;
        }
        if (strcmp(word, "--help") == 0)
            help_and_exit(command);
        spec = find_spec(specs, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
        if (!spec)
            return unknown_option(command, specs, word);
        value = equals ? equals + 1 : NULL;
        if (spec->type != OPTION_FLAG && !value) {
            if (i + 1 == argc)
                return command_usage(command, "--%s wants a value", spec->name), -1;
            value = argv[++i];
        }
        if (set_option(command, spec, value) < 0)
            return -1;
    }
    return 0;
}
