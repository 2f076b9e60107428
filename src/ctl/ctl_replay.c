/* inboxctl replay: one by one by id, or all dead events that some options leave. The database's
 * functions do it and record who. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"

struct replay_filter {
    const char *provider, *error;
    int64_t since_ms;
    bool dead, dry_run;
};

static int replay_ids(struct db *db, char **ids, int count, FILE *out)
{
    int code = EXIT_DONE;

    for (int i = 0; i < count; i++) {
        struct db_args *args = db_args_new();
        struct db_result *rows = NULL;
        struct err err = {0};
        int64_t id = 0;

        (void)options_number(ids[i], &id); /* checked before */
        db_args_int8(args, id);
        if (db_run_text(db, "select inboxd.replay($1)", args, &rows, &err) < 0)
            code = session_failed("replay", db, &err);
        else
            fprintf(out, "%s: %.*s\n", ids[i], STR_ARG(db_text(rows, 0, 0)));
        db_result_free(rows);
        db_args_free(args);
    }
    return code;
}

static int replay_dead(struct db *db, const struct replay_filter *filter, FILE *out)
{
    static const char count_sql[] = "select count(*) from inboxd.dead_letters"
                                    " where provider = $1 and ($2::bigint is null or died_at > "
                                    "now() - $2 * interval '1 millisecond')"
                                    "   and ($3::text is null or strpos(last_error, $3) > 0)";
    static const char replay_sql[] =
        "select inboxd.replay_dead($1, now() - $2::bigint * interval '1 millisecond',"
        " '%' || replace(replace(replace($3::text, '\\', '\\\\'), '%', '\\%'), '_', '\\_') || '%')";
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    db_args_text(args, str_from(filter->provider));
    if (filter->since_ms >= 0)
        db_args_int8(args, filter->since_ms);
    else
        db_args_null(args, DB_INT8);
    db_args_text(args, str_from(filter->error));
    if (db_run_text(db, filter->dry_run ? count_sql : replay_sql, args, &rows, &err) < 0)
        code = session_failed("replay", db, &err);
    else
        fprintf(out, "%lld dead event%s %s\n", (long long)db_int(rows, 0, 0),
                db_int(rows, 0, 0) == 1 ? "" : "s",
                filter->dry_run ? "would be replayed" : "replayed");
    db_result_free(rows);
    db_args_free(args);
    return code;
}

int ctl_replay(const struct context *context, int argc, char **argv)
{
    struct replay_filter filter = {.since_ms = -1};
    const struct option_spec specs[] = {{"dead", OPTION_FLAG, {.flag = &filter.dead}},
                                        {"provider", OPTION_TEXT, {.text = &filter.provider}},
                                        {"since", OPTION_DURATION, {.number = &filter.since_ms}},
                                        {"error", OPTION_TEXT, {.text = &filter.error}},
                                        {"dry-run", OPTION_FLAG, {.flag = &filter.dry_run}},
                                        {0}};
    struct db *db;
    int64_t id;
    int words, code;

    if (options_parse("replay", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (filter.dead ? words > 0 : words == 0)
        return command_usage("replay", "wants the ids of events, or --dead --provider NAME");
    if (filter.dead && !filter.provider)
        return command_usage(
            "replay", "--dead wants --provider NAME, so that nobody replays everything by mistake");
    for (int i = 0; i < words; i++)
        if (options_number(argv[1 + i], &id) < 0)
            return command_usage("replay", "an id is a whole number, not \"%s\"", argv[1 + i]);
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = filter.dead ? replay_dead(db, &filter, context->out)
                       : replay_ids(db, argv + 1, words, context->out);
    db_free(db);
    return code;
}
