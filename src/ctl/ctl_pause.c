/* inboxctl pause and resume: whether anything of a provider is started. The database's functions do
 * it, record who, and say what came of it. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"

static int call(const struct context *context, const char *command, const char *sql,
                const char *provider, const char *why)
{
    struct db_args *args;
    struct db_result *rows = NULL;
    struct err err = {0};
    int code;
    struct db *db = session_connect(context, false, &code);

    if (!db)
        return code;
    args = db_args_new();
    db_args_text(args, str_from(provider));
    if (why)
        db_args_text(args, str_from(why));
    if (db_run_text(db, sql, args, &rows, &err) < 0)
        code = session_failed(command, db, &err);
    else
        fprintf(context->out, "%.*s\n", STR_ARG(db_text(rows, 0, 0)));
    db_result_free(rows);
    db_args_free(args);
    db_free(db);
    return code;
}

int ctl_pause(const struct context *context, int argc, char **argv)
{
    const char *why = NULL;
    const struct option_spec specs[] = {{"why", OPTION_TEXT, {.text = &why}}, {0}};
    int words;

    if (options_parse("pause", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1)
        return command_usage("pause", "wants the name of one provider");
    return call(context, "pause", why ? "select inboxd.pause($1, $2)" : "select inboxd.pause($1)",
                argv[1], why);
}

int ctl_resume(const struct context *context, int argc, char **argv)
{
    const struct option_spec specs[] = {{0}};
    int words;

    if (options_parse("resume", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1)
        return command_usage("resume", "wants the name of one provider");
    return call(context, "resume", "select inboxd.resume($1)", argv[1], NULL);
}
