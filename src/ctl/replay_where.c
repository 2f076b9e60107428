/* First all ids that fit, then batches of them. The predicate is the database's: it was made there,
 * and goes back with every statement as it came. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ctl/progress.h"
#include "ctl/replay.h"
#include "ctl/session.h"

#define PAGE_ROWS 20000 /* looked at in one statement */
#define BATCH_MOST 500
#define BATCHES_A_SECOND 10 /* where a rate is given */

struct found {
    int64_t *ids;
    size_t count, size;
};

struct sums {
    int64_t replayed, gone, changed;
    char named[256]; /* the first whose content is gone */
};

/* The predicate as text; NULL: refused. To be freed. */
static char *make_predicate(struct db *db, const struct replay_where *where, struct err *err)
{
    const char *const texts[] = {where->provider,       where->type,           where->status,
                                 where->received_since, where->received_until, where->since,
                                 where->until,          where->error,          where->error_regex};
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    char *predicate = NULL;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        db_args_text(args, texts[i] ? str_from(texts[i]) : (struct str){NULL, 0});
    if (db_run_text(db, "select inboxd.replay_predicate($1, $2, $3, $4, $5, $6, $7, $8, $9)::text",
                    args, &rows, err) == 0)
        predicate = mem_copy(db_text(rows, 0, 0));
    db_result_free(rows);
    db_args_free(args);
    return predicate;
}

static void add(struct found *found, int64_t id)
{
    if (found->count == found->size) {
        found->size = found->size ? 2 * found->size : 1024;
        found->ids = mem_resize(found->ids, found->size * sizeof(*found->ids));
    }
    found->ids[found->count++] = id;
}

/* One page; *after is where the next begins, 0 at the end. */
static int find_page(struct db *db, const char *predicate, int64_t limit, int64_t *after,
                     struct found *found, struct err *err)
{
    static const char sql[] =
        "select f.next_id, i.id from inboxd.replay_find($1::text::inboxd.replay_predicate, $2, $3) "
        "f left join lateral unnest(f.ids) as i (id) on true order by i.id";
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int rc;

    db_args_text(args, str_from(predicate));
    db_args_int8(args, *after);
    db_args_int4(args, PAGE_ROWS);
    rc = db_run_text(db, sql, args, &rows, err);
    if (rc == 0) {
        *after = db_is_null(rows, 0, 0) ? 0 : db_int(rows, 0, 0);
        for (int i = 0; i < db_rows(rows); i++)
            if (!db_is_null(rows, i, 1) && (limit < 0 || (int64_t)found->count < limit))
                add(found, db_int(rows, i, 1));
    }
    db_result_free(rows);
    db_args_free(args);
    return rc;
}

static int find(struct db *db, const char *predicate, int64_t limit, struct found *found,
                struct err *err)
{
    struct progress progress;
    int64_t after = 0;
    int rc;

    progress_begin(&progress, "found", 0);
    do {
        rc = find_page(db, predicate, limit, &after, found, err);
        progress_show(&progress, (int64_t)found->count);
    } while (rc == 0 && after != 0 && (limit < 0 || (int64_t)found->count < limit) &&
             !progress_interrupted());
    progress_end(&progress);
    return rc;
}

/* The number of the command's row in audit, or -1. */
static int64_t begin(struct db *db, const char *predicate, size_t count, const char *why,
                     struct err *err)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int64_t command = -1;

    db_args_text(args, str_from(predicate));
    db_args_int8(args, (int64_t)count);
    db_args_text(args, why ? str_from(why) : (struct str){NULL, 0});
    if (db_run_text(db, "select inboxd.replay_begin($1::text::inboxd.replay_predicate, $2, $3)",
                    args, &rows, err) == 0)
        command = db_int(rows, 0, 0);
    db_result_free(rows);
    db_args_free(args);
    return command;
}

static int run_batch(struct db *db, int64_t command, const char *predicate, const int64_t *ids,
                     size_t count, struct sums *sums, struct err *err)
{
    static const char sql[] =
        "select b.replayed, cardinality(b.gone), b.changed, array_to_string(b.gone[1:10], ' ')"
        "  from inboxd.replay_batch($1, $2::text::inboxd.replay_predicate, $3) b";
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int rc;

    db_args_int8(args, command);
    db_args_text(args, str_from(predicate));
    replay_put_ids(args, ids, count);
    rc = db_run_text(db, sql, args, &rows, err);
    if (rc == 0) {
        sums->replayed += db_int(rows, 0, 0);
        if (sums->gone == 0)
            snprintf(sums->named, sizeof(sums->named), "%.*s", STR_ARG(db_text(rows, 0, 3)));
        sums->gone += db_int(rows, 0, 1);
        sums->changed += db_int(rows, 0, 2);
    }
    db_result_free(rows);
    db_args_free(args);
    return rc;
}

static size_t batch_size(int64_t rate)
{
    int64_t size = rate > 0 ? rate / BATCHES_A_SECOND : BATCH_MOST;

    return size < 1 ? 1 : size > BATCH_MOST ? BATCH_MOST : (size_t)size;
}

static int run_all(struct db *db, const struct replay_where *where, const char *predicate,
                   const struct found *found, struct sums *sums, struct err *err)
{
    int64_t command = begin(db, predicate, found->count, where->why, err);
    size_t size = batch_size(where->rate), done = 0;
    struct progress progress;
    int rc = command < 0 ? -1 : 0;

    progress_begin(&progress, "replayed", (int64_t)found->count);
    while (rc == 0 && done < found->count && !progress_interrupted()) {
        size_t n = found->count - done < size ? found->count - done : size;

        rc = run_batch(db, command, predicate, found->ids + done, n, sums, err);
        if (rc == 0)
            done += n;
        progress_show(&progress, (int64_t)done);
        if (done < found->count)
            replay_keep_rate(&progress, where->rate, done);
    }
    progress_end(&progress);
    return rc;
}

static void print_sums(const struct sums *sums, size_t found, FILE *out)
{
    int64_t left = (int64_t)found - sums->replayed - sums->gone - sums->changed;

    fprintf(out, "%lld event%s replayed\n", (long long)sums->replayed,
            sums->replayed == 1 ? "" : "s");
    if (sums->gone > 0)
        fprintf(out, "%lld refused, since their content is gone: %s%s\n", (long long)sums->gone,
                sums->named, sums->gone > 10 ? " ..." : "");
    if (sums->changed > 0)
        fprintf(out, "%lld left alone: somebody else was faster\n", (long long)sums->changed);
    if (left > 0)
        fprintf(out, "%lld not reached; the same command goes on with them\n", (long long)left);
}

static int act(struct db *db, const struct replay_where *where, const char *predicate,
               struct found *found, FILE *out, struct err *err)
{
    struct sums sums = {0};
    int rc = 0;

    if (find(db, predicate, where->limit, found, err) < 0)
        return -1;
    if (progress_interrupted()) {
        fputs("interrupted while looking; nothing was replayed\n", out);
        return 0;
    }
    if (where->dry_run)
        return replay_dry_run(db, found->ids, found->count, out, err);
    if (found->count > 0)
        rc = run_all(db, where, predicate, found, &sums, err);
    if (progress_interrupted())
        fputs("interrupted\n", out);
    print_sums(&sums, found->count, out);
    return rc;
}

int replay_where(struct db *db, const struct replay_where *where, const struct context *context)
{
    struct found found = {0};
    struct err err = {0};
    char *predicate = make_predicate(db, where, &err);
    int code = EXIT_DONE;

    if (!predicate || act(db, where, predicate, &found, context->out, &err) < 0)
        code = session_failed("replay", db, &err);
    else if (progress_interrupted())
        code = EXIT_FAILED;
    free(found.ids);
    free(predicate);
    return code;
}
