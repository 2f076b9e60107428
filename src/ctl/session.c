/* Configuration and connection for commands; prints what is wrong to standard error. */
#include "ctl/session.h"

#include <stdio.h>

#include "db/migrate.h"

void session_print_mistakes(const struct mistakes *mistakes, bool warnings)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        if (mistake->warning && !warnings)
            continue;
        fputs(mistake->file, stderr);
        if (mistake->line > 0)
            fprintf(stderr, ":%d", mistake->line);
        fprintf(stderr, ": %s%s\n", mistake->warning ? "warning: " : "", mistake->text);
    }
}

static struct config *read_with(const struct context *context,
                                struct config *(*read)(const char *, struct mistakes *))
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = read(context->config_path, mistakes);

    if (!config)
        session_print_mistakes(mistakes, false);
    mistakes_free(mistakes);
    return config;
}

struct config *session_config(const struct context *context)
{
    return read_with(context, config_read);
}

struct db *session_connect(const struct context *context, bool any_schema, int *code)
{
    /* Who operates the database need not be allowed to read the secrets. */
    struct config *config = read_with(context, config_read_without_secrets);
    struct err err = {0};
    struct db *db;

    *code = EXIT_BAD_CONFIG;
    if (!config)
        return NULL;
    db = db_new(&(struct db_options){.conninfo = config->database.ptr,
                                     .application_name = "inboxctl",
                                     .settings = "SET lock_timeout = '10s'"});
    config_unref(config);
    if (db_connect(db, &err) < 0 || (!any_schema && migrate_check(db, &err) < 0)) {
        fprintf(stderr, "inboxctl: %s\n", err.text);
        *code = err.kind == ERR_AGAIN ? EXIT_UNREACHABLE : EXIT_FAILED;
        db_free(db);
        return NULL;
    }
    *code = EXIT_DONE;
    return db;
}

int session_failed(const char *command, const struct db *db, const struct err *err)
{
    bool server_said = db_sqlstate(db)[0] != '\0' && db_message(db)[0] != '\0';

    fprintf(stderr, "inboxctl: %s: %s\n", command, server_said ? db_message(db) : err->text);
    return err->kind == ERR_AGAIN ? EXIT_UNREACHABLE : EXIT_FAILED;
}
