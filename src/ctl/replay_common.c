/* What replay by id and by predicate have in common. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "ctl/replay.h"
#include "ctl/table.h"

#define SAMPLE_ROWS 10

void replay_put_ids(struct db_args *args, const int64_t *ids, size_t count)
{
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < count; i++)
        db_args_element_int8(args, ids[i]);
    db_args_array_end(args);
}

static int print_sample(struct db *db, const int64_t *ids, size_t count, FILE *out, struct err *err)
{
    static const char sql[] =
        "select i.id::text as n_id, i.provider, i.event_id, i.event_type as type,"
        "       case i.status when 0 then 'waits' when 1 then 'runs' when 2 then 'done' else "
        "'dead' end "
        "as status,"
        "       date_trunc('second', i.processed_at)::text as ended, left(i.last_error, 60) as "
        "error from inboxd.webhook_inbox i where i.id = any ($1) order by "
        "i.id";
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int rc;

    replay_put_ids(args, ids, count < SAMPLE_ROWS ? count : SAMPLE_ROWS);
    rc = db_run_text(db, sql, args, &rows, err);
    if (rc == 0 && db_rows(rows) > 0)
        table_print(rows, out);
    db_result_free(rows);
    db_args_free(args);
    return rc;
}

int replay_dry_run(struct db *db, const int64_t *ids, size_t count, FILE *out, struct err *err)
{
    fprintf(out, "%zu event%s would be replayed%s\n", count, count == 1 ? "" : "s",
            count > SAMPLE_ROWS ? "; the first of them:" : "");
    return count > 0 ? print_sample(db, ids, count, out, err) : 0;
}

void replay_keep_rate(const struct progress *progress, int64_t rate, size_t done)
{
    int64_t until = progress->started_us + (int64_t)done * 1000000 / (rate > 0 ? rate : 1);
    int64_t wait;

    while (rate > 0 && !progress_interrupted() && (wait = until - clock_mono_us()) > 0) {
        struct timespec pause = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};

        nanosleep(&pause, NULL);
    }
}
