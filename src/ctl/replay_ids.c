/* Replay by id: each event in a transaction of its own, so that one that is refused does not keep
 * the others. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ctl/replay.h"
#include "ctl/session.h"

/* The number of the command's row in audit, or -1. */
static int64_t begin(struct db *db, const int64_t *ids, size_t count, const char *why,
                     struct err *err)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int64_t command = -1;

    replay_put_ids(args, ids, count);
    db_args_text(args, why ? str_from(why) : (struct str){NULL, 0});
    if (db_run_text(db, "select inboxd.replay_begin($1::bigint[], $2)", args, &rows, err) == 0)
        command = db_int(rows, 0, 0);
    db_result_free(rows);
    db_args_free(args);
    return command;
}

static int run_one(struct db *db, int64_t command, int64_t id, FILE *out)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    db_args_int8(args, command);
    db_args_int8(args, id);
    if (db_run_text(db, "select inboxd.replay_one($1, $2)", args, &rows, &err) < 0)
        code = session_failed("replay", db, &err);
    else
        fprintf(out, "%lld: %.*s\n", (long long)id, STR_ARG(db_text(rows, 0, 0)));
    db_result_free(rows);
    db_args_free(args);
    return code;
}

static int run_all(struct db *db, int64_t command, const int64_t *ids, size_t count, int64_t rate,
                   FILE *out)
{
    struct progress progress;
    int code = EXIT_DONE;
    size_t done = 0;

    progress_begin(&progress, "replayed", (int64_t)count);
    while (done < count && code != EXIT_UNREACHABLE && !progress_interrupted()) {
        int one = run_one(db, command, ids[done], out);

        if (one != EXIT_DONE)
            code = one;
        done++;
        if (done < count)
            replay_keep_rate(&progress, rate, done);
    }
    progress_end(&progress);
    if (done < count) {
        fprintf(out, "%s%zu not reached\n", progress_interrupted() ? "interrupted; " : "",
                count - done);
        if (code == EXIT_DONE)
            code = EXIT_FAILED;
    }
    return code;
}

/* Those that replay would not refuse. */
static int dry_run(struct db *db, const int64_t *ids, size_t count, FILE *out, struct err *err)
{
    static const char sql[] =
        "select i.id from inboxd.webhook_inbox i"
        " where i.id = any ($1) and i.status <> 1"
        "   and exists (select from inboxd.event_content c where c.id = i.id) order by i.id";
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int64_t *fitting = NULL;
    int rc;

    replay_put_ids(args, ids, count);
    rc = db_run_text(db, sql, args, &rows, err);
    if (rc == 0) {
        int n = db_rows(rows);

        fitting = mem_alloc((n > 0 ? (size_t)n : 1) * sizeof(*fitting));
        for (int i = 0; i < n; i++)
            fitting[i] = db_int(rows, i, 0);
        rc = replay_dry_run(db, fitting, (size_t)n, out, err);
    }
    free(fitting);
    db_result_free(rows);
    db_args_free(args);
    return rc;
}

int replay_ids(struct db *db, const int64_t *ids, size_t count, const struct replay_where *where,
               const struct context *context)
{
    struct err err = {0};
    int64_t command;

    if (where->dry_run)
        return dry_run(db, ids, count, context->out, &err) < 0 ? session_failed("replay", db, &err)
                                                               : EXIT_DONE;
    command = begin(db, ids, count, where->why, &err);
    if (command < 0)
        return session_failed("replay", db, &err);
    return run_all(db, command, ids, count, where->rate, context->out);
}
