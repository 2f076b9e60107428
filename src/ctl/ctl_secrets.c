/* inboxctl secrets: what providers have handed over in handshakes. The database's functions decide
 * and record who; the secret itself is shown only to whoever has the key of the configuration. */
#include <stdio.h>
#include <string.h>

#include "base/seal.h"
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "ctl/table.h"

static const char list_sql[] =
    "select id::text as n_id, provider, state,"
    "       date_trunc('second', captured_at)::text as captured, source_ip as sent_from,"
    "       coalesce(rejected_by, accepted_by) as by,"
    "       date_trunc('second', coalesce(rejected_at, accepted_at))::text as at"
    "  from inboxd.captured_secrets where state <> 'rejected' or $1"
    " order by id";

static int list(const struct context *context, bool all)
{
    int code;
    struct db *db = session_connect(context, false, &code);
    struct db_args *args;
    struct db_result *rows = NULL;
    struct err err = {0};

    if (!db)
        return code;
    args = db_args_new();
    db_args_bool(args, all);
    if (db_run_text(db, list_sql, args, &rows, &err) < 0)
        code = session_failed("secrets", db, &err);
    else if (db_rows(rows) == 0)
        fprintf(context->out, "no secret was handed over\n");
    else
        table_print(rows, context->out);
    db_result_free(rows);
    db_args_free(args);
    db_free(db);
    return code;
}

/* `sql` takes an id and says what it did. */
static int decide(const struct context *context, const char *sql, char **ids, int count)
{
    int code;
    struct db *db = session_connect(context, false, &code);

    for (int i = 0; db && i < count; i++) {
        struct db_args *args = db_args_new();
        struct db_result *rows = NULL;
        struct err err = {0};
        int64_t id = 0;

        (void)options_number(ids[i], &id); /* checked before */
        db_args_int8(args, id);
        if (db_run_text(db, sql, args, &rows, &err) < 0)
            code = session_failed("secrets", db, &err);
        else
            fprintf(context->out, "%.*s\n", STR_ARG(db_text(rows, 0, 0)));
        db_result_free(rows);
        db_args_free(args);
    }
    db_free(db);
    return code;
}

static int print_secret(const struct context *context, const struct secret *key,
                        const struct db_result *rows, const char *id)
{
    struct secret *secret = NULL;

    if (db_rows(rows) == 0) {
        fprintf(stderr, "inboxctl: there is no captured secret %s\n", id);
        return EXIT_FAILED;
    }
    if (db_is_null(rows, 0, 1)) {
        fprintf(stderr, "inboxctl: secret %s was rejected and is gone\n", id);
        return EXIT_FAILED;
    }
    secret = seal_open(key, db_text(rows, 0, 0), db_text(rows, 0, 1));
    if (!secret) {
        fprintf(stderr, "inboxctl: secret %s was kept with another capture_key\n", id);
        return EXIT_FAILED;
    }
    fprintf(context->out, "%.*s\n", STR_ARG(secret_reveal(secret)));
    secret_unref(secret);
    return EXIT_DONE;
}

static int show(const struct context *context, const char *id)
{
    struct config *config = session_config(context);
    struct db_args *args = NULL;
    struct db_result *rows = NULL;
    struct db *db = NULL;
    struct err err = {0};
    int64_t number = 0;
    int code = EXIT_BAD_CONFIG;

    if (!config)
        return code;
    if (!config->capture_key) {
        fprintf(stderr, "inboxctl: %s has no capture_key, with which secrets are kept\n",
                context->config_path);
        goto out;
    }
    db = session_connect(context, false, &code);
    if (!db)
        goto out;
    (void)options_number(id, &number); /* checked before */
    args = db_args_new();
    db_args_int8(args, number);
    if (db_run_text(db, "select provider, sealed from inboxd.captured_secret where id = $1", args,
                    &rows, &err) < 0)
        code = session_failed("secrets", db, &err);
    else
        code = print_secret(context, config->capture_key, rows, id);
out:
    db_result_free(rows);
    db_args_free(args);
    db_free(db);
    config_unref(config);
    return code;
}

int ctl_secrets(const struct context *context, int argc, char **argv)
{
    bool all = false;
    const struct option_spec specs[] = {{"all", OPTION_FLAG, {.flag = &all}}, {0}};
    const char *what;
    int64_t id;
    int words;

    if (options_parse("secrets", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    what = words > 0 ? argv[1] : "list";
    if (strcmp(what, "list") == 0)
        return words > 1 ? command_usage("secrets", "list takes no further words")
                         : list(context, all);
    for (int i = 2; i <= words; i++)
        if (options_number(argv[i], &id) < 0)
            return command_usage("secrets", "an id is a whole number, not \"%s\"", argv[i]);
    if (strcmp(what, "show") == 0 && words == 2)
        return show(context, argv[2]);
    if (strcmp(what, "accept") == 0 && words >= 2)
        return decide(context, "select inboxd.secret_accept($1)", argv + 2, words - 1);
    if (strcmp(what, "reject") == 0 && words >= 2)
        return decide(context, "select inboxd.secret_reject($1)", argv + 2, words - 1);
    return command_usage("secrets", "wants list, show ID, accept ID... or reject ID...");
}
