/* inboxctl blocked and skip: keys whose events wait for one that fails (order = strict), and giving
 * that one up; discard gives any event up. The database's functions do it, record who, and say what
 * came of it. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "ctl/table.h"

static const char blocked_sql[] =
    "select provider, key, id::text as n_id, event_type as type, attempt::text as n_attempt,"
    "       date_trunc('second', next_attempt_at)::text as \"next\", waiting::text as n_waiting,"
    "       left(last_error, 80) as error"
    "  from inboxd.blocked_keys where $1::text is null or provider = $1"
    " order by received_at limit 200";

static const char blocked_json_sql[] =
    "select to_jsonb(b)::text from inboxd.blocked_keys b where $1::text is null or provider = $1"
    " order by received_at";

static void print_rows(const struct db_result *rows, bool json, FILE *out)
{
    if (json)
        for (int row = 0; row < db_rows(rows); row++)
            fprintf(out, "%.*s\n", STR_ARG(db_text(rows, row, 0)));
    else if (db_rows(rows) == 0)
        fputs("no key is blocked\n", out);
    else
        table_print(rows, out);
}

static int query(const struct context *context, const char *command, const char *sql,
                 struct db_args *args, struct db_result **rows)
{
    struct err err = {0};
    int code;
    struct db *db = session_connect(context, false, &code);

    if (!db)
        return code;
    if (db_run_text(db, sql, args, rows, &err) < 0)
        code = session_failed(command, db, &err);
    db_free(db);
    return code;
}

int ctl_blocked(const struct context *context, int argc, char **argv)
{
    const char *provider = NULL;
    bool json = false;
    const struct option_spec specs[] = {{"provider", OPTION_TEXT, {.text = &provider}},
                                        {"json", OPTION_FLAG, {.flag = &json}},
                                        {0}};
    struct db_args *args;
    struct db_result *rows = NULL;
    int words, code;

    if (options_parse("blocked", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage("blocked", "takes no words, but there is \"%s\"; use --provider",
                             argv[1]);
    args = db_args_new();
    db_args_text(args, str_from(provider));
    code = query(context, "blocked", json ? blocked_json_sql : blocked_sql, args, &rows);
    if (rows)
        print_rows(rows, json, context->out);
    db_result_free(rows);
    db_args_free(args);
    return code;
}

/* `sql`: a function of an id and a reason. */
static int give_up(const struct context *context, int argc, char **argv, const char *sql,
                   const char *which)
{
    const struct option_spec specs[] = {{0}};
    struct db_args *args;
    struct db_result *rows = NULL;
    int64_t id;
    int words, code;

    if (options_parse(argv[0], specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 2 || options_number(argv[1], &id) < 0)
        return command_usage(
            argv[0], "wants the id of one event, a whole number, and why, in quotes; %s", which);
    args = db_args_new();
    db_args_int8(args, id);
    db_args_text(args, str_from(argv[2]));
    code = query(context, argv[0], sql, args, &rows);
    if (rows) /* it holds the key, which a sender wrote */
        table_print_text(db_text(rows, 0, 0), context->out);
    db_result_free(rows);
    db_args_free(args);
    return code;
}

int ctl_skip(const struct context *context, int argc, char **argv)
{
    return give_up(context, argc, argv, "select inboxd.skip($1, $2)",
                   "\"inboxctl blocked\" lists what may be skipped");
}

int ctl_discard(const struct context *context, int argc, char **argv)
{
    return give_up(context, argc, argv, "select inboxd.discard($1, $2)",
                   "\"inboxctl list\" prints ids");
}
