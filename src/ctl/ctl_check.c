/* inboxctl check: the configuration's mistakes, those that only compiling the providers finds
 * included. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "provider/provider.h"

static void compile_providers(const struct config *config, struct mistakes *mistakes)
{
    for (size_t i = 0; i < config->provider_count; i++)
        provider_free(provider_new(&config->providers[i], mistakes));
}

static void print_all(const struct mistakes *mistakes, FILE *out)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        fprintf(out, "%s:%d: %s%s\n", mistake->file, mistake->line,
                mistake->warning ? "warning: " : "", mistake->text);
    }
}

static int check_database(const struct context *context)
{
    int code;
    struct db *db = session_connect(context, false, &code);

    if (db)
        fprintf(context->out, "the database answers and its schema fits\n");
    db_free(db);
    return code;
}

int ctl_check(const struct context *context, int argc, char **argv)
{
    bool connect = false;
    const struct option_spec specs[] = {{"connect", OPTION_FLAG, {.flag = &connect}}, {0}};
    struct mistakes *mistakes;
    struct config *config;
    size_t errors, warnings;
    int words;

    if (options_parse("check", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage(
            "check", "takes no words, but there is \"%s\"; the file is named by --config", argv[1]);
    mistakes = mistakes_new();
    config = config_read(context->config_path, mistakes);
    if (config)
        compile_providers(config, mistakes);
    print_all(mistakes, stderr);
    errors = mistakes_errors(mistakes);
    warnings = mistakes_count(mistakes) - errors;
    mistakes_free(mistakes);
    if (errors > 0 || !config) {
        fprintf(stderr, "%s: %zu mistake%s\n", context->config_path, errors,
                errors == 1 ? "" : "s");
        config_unref(config);
        return EXIT_BAD_CONFIG;
    }
    fprintf(context->out, "%s: good, %zu provider%s, %zu warning%s\n", context->config_path,
            config->provider_count, config->provider_count == 1 ? "" : "s", warnings,
            warnings == 1 ? "" : "s");
    config_unref(config);
    return connect ? check_database(context) : EXIT_DONE;
}
