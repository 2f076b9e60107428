/* inboxctl check: the configuration's mistakes, those that only compiling the providers finds
 * included. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "provider/provider.h"
#include "work/module_check.h"

static void compile_provider(const struct provider_config *provider, struct mistakes *mistakes)
{
    provider_free(provider_new(provider, mistakes));
}

/* What the reader of the file leaves to libpq. NULL, with a mistake more, when it is wrong. */
static struct config *check_conninfo(struct config *config, struct mistakes *mistakes)
{
    struct err err = {0};

    if (!config || db_check_conninfo(config->database.ptr, &err) == 0)
        return config;
    mistakes_add(mistakes, config->path, 0, "database: %s", err.text);
    config_unref(config);
    return NULL;
}

static struct config *check_modules(struct config *config, struct mistakes *mistakes)
{
    size_t errors = mistakes_errors(mistakes);

    if (!config || config->workers == 0)
        return config;
    modules_check(config, mistakes);
    if (mistakes_errors(mistakes) == errors)
        return config;
    config_unref(config);
    return NULL;
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
    config = config_read_checked(context->config_path, compile_provider, mistakes);
    config = check_conninfo(config, mistakes);
    config = check_modules(config, mistakes);
    session_print_mistakes(mistakes, true);
    errors = mistakes_errors(mistakes);
    warnings = mistakes_count(mistakes) - errors;
    mistakes_free(mistakes);
    if (!config) {
        fprintf(stderr, "%s: %zu mistake%s\n", context->config_path, errors,
                errors == 1 ? "" : "s");
        return EXIT_BAD_CONFIG;
    }
    fprintf(context->out, "%s: good, %zu provider%s, %zu warning%s\n", context->config_path,
            config->provider_count, config->provider_count == 1 ? "" : "s", warnings,
            warnings == 1 ? "" : "s");
    config_unref(config);
    return connect ? check_database(context) : EXIT_DONE;
}
