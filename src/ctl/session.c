/* Configuration and connection for commands; prints what is wrong to standard error. */
#include "ctl/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

struct config *session_config_without_secrets(const struct context *context)
{
    return read_with(context, config_read_without_secrets);
}

/* The connection string: of --database, or of the configuration. NULL after its mistakes were
 * printed; to be freed. */
static char *find_conninfo(const struct context *context)
{
    struct config *config;
    char *conninfo;

    if (context->database)
        return mem_copy(str_from(context->database));
    /* Who operates the database need not be allowed to read the secrets. */
    config = session_config_without_secrets(context);
    conninfo = config ? mem_copy(config->database) : NULL;
    config_unref(config);
    return conninfo;
}

struct db *session_connect(const struct context *context, bool any_schema, int *code)
{
    char *conninfo = find_conninfo(context);
    struct err err = {0};
    struct db *db;

    *code = EXIT_BAD_CONFIG;
    if (!conninfo)
        return NULL;
    db = db_new(&(struct db_options){
        .conninfo = conninfo,
        .application_name = "inboxctl",
        .settings = "SET lock_timeout = '10s'; SET intervalstyle = 'postgres'"});
    free(conninfo);
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
    if (strcmp(db_sqlstate(db), "42501") == 0)
        fputs("connect as a member of the role inboxd_ops: inboxctl --database \"user=... "
              "dbname=...\"\n",
              stderr);
    return err->kind == ERR_AGAIN ? EXIT_UNREACHABLE : EXIT_FAILED;
}
