/* How fast a backlog is worked off. tests/bench/work.py fills it and compares.
 *
 *     bench_work_bench pool CONFIG CONNINFO    the worker pool, under a configuration file
 *     bench_work_bench article CONNINFO THREADS BATCH
 *         the loop that most teams would write, on the table of article.sql: claim a batch with FOR
 *         UPDATE SKIP LOCKED and mark it, commit; then an UPDATE and a commit for each event
 *
 * Ends when nothing is due; prints a line of JSON: events, seconds, processor time of this process
 * an event, and how long each sixth took. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "work/pool.h"

#include "db/db.h"

#define SIXTHS 6
#define POLL_NS (2 * 1000 * 1000)

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static NORETURN void die(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static struct db *connect_to(const char *conninfo)
{
    struct db *db =
        db_new(&(struct db_options){.conninfo = conninfo, .application_name = "bench of working"});
    struct err err;

    if (db_connect(db, &err) < 0)
        die("connect", &err);
    return db;
}

static int64_t ask(struct db *db, const char *sql)
{
    struct db_result *rows;
    struct err err;
    int64_t value;

    if (db_run_text(db, sql, NULL, &rows, &err) < 0)
        die(sql, &err);
    value = db_int(rows, 0, 0);
    db_result_free(rows);
    return value;
}

static void report(int64_t events, int64_t began_us, double cpu, const int64_t *sixths)
{
    double seconds = (double)(clock_mono_us() - began_us) / 1e6;

    printf("{\"events\": %" PRId64 ", \"seconds\": %.3f, \"per_s\": %.0f, \"cpu_us\": %.2f, "
           "\"sixths_s\": [",
           events, seconds, (double)events / seconds, (cpu_seconds() - cpu) * 1e6 / (double)events);
    for (int i = 0; i < SIXTHS; i++)
        printf("%s%.3f", i ? ", " : "", (double)(sixths[i] - (i ? sixths[i - 1] : began_us)) / 1e6);
    printf("]}\n");
}

/* Waits until nothing is left; notes when each sixth of the backlog was done. `left` asks how much
 * there is by its highest id that is done, which is cheap at any size. */
static void watch(struct db *db, const char *left_sql, int64_t events, int64_t *sixths)
{
    struct timespec pause = {.tv_nsec = POLL_NS};
    int sixth = 0;

    while (sixth < SIXTHS) {
        int64_t done = events - ask(db, left_sql);

        while (sixth < SIXTHS && done >= events * (sixth + 1) / SIXTHS)
            sixths[sixth++] = clock_mono_us();
        nanosleep(&pause, NULL);
    }
}

/* ---- the pool ---- */

static int run_pool(const char *config_path, const char *conninfo)
{
    static const char left_sql[] = "select coalesce(sum(stored), 0)::int8 - coalesce(sum(done), "
                                   "0)::int8 from inboxd.counters";
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_read(config_path, mistakes);
    struct db *db = connect_to(conninfo);
    int64_t sixths[SIXTHS], events, began;
    double cpu;
    struct pool *pool;
    atomic_int hung = 0;

    if (!config) {
        for (size_t i = 0; i < mistakes_count(mistakes); i++)
            fprintf(stderr, "%s\n", mistakes_get(mistakes, i)->text);
        return 1;
    }
    events = ask(db, left_sql);
    cpu = cpu_seconds();
    began = clock_mono_us();
    pool = pool_new(config, &hung);
    watch(db, left_sql, events, sixths);
    report(events, began, cpu, sixths);
    pool_stop(pool, 10000);
    pool_free(pool);
    db_free(db);
    config_unref(config);
    mistakes_free(mistakes);
    return 0;
}

/* ---- the article's loop ---- */

struct article {
    pthread_t thread;
    struct db *db;
    int batch;
    atomic_llong *done;
};

static const char article_claim[] =
    "with c as (select id from public.article_inbox where status = 0 and next_attempt_at <= now()"
    " order by next_attempt_at, received_at limit $1 for update skip locked)"
    " update public.article_inbox i set status = 1 from c where i.id = c.id"
    " returning i.id, i.payload::text";
static const char article_done[] =
    "update public.article_inbox set status = 2, processed_at = now() where id = $1";

static void prepare_text(struct db *db, const char *sql, struct db_args *args,
                         struct db_result **rows)
{
    struct err err;

    if (db_pipeline_begin(db, &err) < 0 || db_send_text(db, sql, args, &err) < 0 ||
        db_sync(db, &err) < 0 || db_receive(db, rows, &err) != DB_ROWS ||
        db_receive(db, NULL, &err) != DB_SYNCED || db_pipeline_end(db, &err) < 0)
        die(sql, &err);
}

static void *article_thread(void *argument)
{
    struct article *article = argument;
    struct db_args *args = db_args_new();

    for (;;) {
        struct db_result *rows;
        int claimed;

        db_args_clear(args);
        db_args_int8(args, article->batch);
        prepare_text(article->db, article_claim, args, &rows);
        claimed = db_rows(rows);
        for (int i = 0; i < claimed; i++) {
            db_args_clear(args);
            db_args_int8(args, db_int(rows, i, 0));
            prepare_text(article->db, article_done, args, NULL);
        }
        db_result_free(rows);
        atomic_fetch_add(article->done, claimed);
        if (claimed == 0)
            break;
    }
    db_args_free(args);
    return NULL;
}

static int run_article(const char *conninfo, int threads, int batch)
{
    struct article *articles = mem_alloc((size_t)threads * sizeof(*articles));
    atomic_llong done = 0;
    int64_t began, sixths[SIXTHS];
    double cpu = cpu_seconds();

    for (int i = 0; i < threads; i++)
        articles[i] = (struct article){.db = connect_to(conninfo), .batch = batch, .done = &done};
    began = clock_mono_us();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&articles[i].thread, NULL, article_thread, &articles[i]) != 0)
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(articles[i].thread, NULL);
    for (int i = 0; i < SIXTHS; i++)
        sixths[i] = began + (clock_mono_us() - began) * (i + 1) / SIXTHS;
    report(done, began, cpu, sixths);
    for (int i = 0; i < threads; i++)
        db_free(articles[i].db);
    free(articles);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && str_is(str_from(argv[1]), "pool"))
        return run_pool(argv[2], argv[3]);
    if (argc == 5 && str_is(str_from(argv[1]), "article"))
        return run_article(argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10));
    fprintf(stderr,
            "usage: bench_work_bench pool CONFIG CONNINFO | article CONNINFO THREADS BATCH\n");
    return 2;
}
