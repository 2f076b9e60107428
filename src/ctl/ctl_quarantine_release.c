/* inboxctl quarantine release and drop. Releasing marks rows; a daemon, which has the secrets, does
 * it, and its results are waited for and printed as they come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/options.h"
#include "ctl/quarantine.h"
#include "ctl/session.h"

#define TICK_MS 100

/* The rows that the command line names. */
struct rows {
    int64_t *ids;
    size_t count;
};

struct request {
    struct quarantine_filter filter;
    bool all, unverified;
    int64_t wait_ms;
};

/* ---- which rows ---- */

static int read_words(char **words, int count, struct rows *rows)
{
    rows->ids = mem_alloc(((size_t)count + 1) * sizeof(*rows->ids));
    for (int i = 0; i < count; i++)
        if (options_number(words[i], &rows->ids[rows->count++]) < 0)
            return command_usage(QUARANTINE_NAME,
                                 "a refused request is named by its number, not \"%s\"", words[i]);
    return EXIT_DONE;
}

static int check_request(const char *action, const struct request *request, int words)
{
    bool filtered =
        request->filter.provider || request->filter.reason || request->filter.since_ms >= 0;

    if (request->all && !request->filter.provider)
        return command_usage(QUARANTINE_NAME,
                             "%s --all wants --provider NAME, so that nobody takes everything by "
                             "mistake",
                             action);
    if (request->all ? words > 0 : words == 0 || filtered)
        return command_usage(QUARANTINE_NAME,
                             "%s wants the numbers of refused requests, or --provider NAME --all",
                             action);
    return EXIT_DONE;
}

/* All that the filter leaves and `condition` allows. */
static int find_all(struct db *db, const struct quarantine_filter *filter, const char *condition,
                    struct rows *rows)
{
    char *sql = mem_printf("select id from inboxd.quarantine where %s and %s order by id",
                           QUARANTINE_FILTER, condition);
    struct db_args *args = db_args_new();
    struct db_result *found = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    quarantine_put_filter(args, filter);
    if (db_run_text(db, sql, args, &found, &err) < 0) {
        code = session_failed(QUARANTINE_NAME, db, &err);
    } else {
        rows->ids = mem_resize(rows->ids, ((size_t)db_rows(found) + 1) * sizeof(*rows->ids));
        for (int i = 0; i < db_rows(found); i++)
            rows->ids[rows->count++] = db_int(found, i, 0);
    }
    db_result_free(found);
    db_args_free(args);
    free(sql);
    return code;
}

/* ---- one by one ---- */

/* Calls an operator's function; *text, if wanted, is what it says. */
static int call(struct db *db, const char *sql, int64_t id, const bool *flag, bool print, FILE *out)
{
    struct db_args *args = db_args_new();
    struct db_result *row = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    db_args_int8(args, id);
    if (flag)
        db_args_bool(args, *flag);
    if (db_run_text(db, sql, args, &row, &err) < 0)
        code = session_failed(QUARANTINE_NAME, db, &err);
    else if (print)
        fprintf(out, "%.*s\n", STR_ARG(db_text(row, 0, 0)));
    db_result_free(row);
    db_args_free(args);
    return code;
}

/* Marks the rows; those that cannot be are taken out of the list. */
static int mark(struct db *db, struct rows *rows, bool unverified, FILE *out)
{
    size_t kept = 0;
    int code = EXIT_DONE;

    for (size_t i = 0; i < rows->count; i++) {
        int one = call(db, "select inboxd.release($1, $2)", rows->ids[i], &unverified, false, out);

        if (one == EXIT_DONE)
            rows->ids[kept++] = rows->ids[i];
        else
            code = one;
    }
    rows->count = kept;
    return code;
}

/* ---- waiting for the daemon ---- */

static void forget(struct rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->ids[i] == id)
            rows->ids[i--] = rows->ids[--rows->count];
}

/* Prints what is settled and takes it out of the list; *refused is set where one was refused. */
static int print_settled(struct db *db, struct rows *rows, bool *refused, FILE *out)
{
    static const char sql[] = "select id, outcome, coalesce(result, '') from (select id, result,"
                              " case when state in ('stored', 'duplicate', 'refused') then state "
                              "end as outcome"
                              " from inboxd.quarantine where id = any ($1::bigint[])) q"
                              " where outcome is not null order by id";
    struct db_args *args = db_args_new();
    struct db_result *settled = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < rows->count; i++)
        db_args_element_int8(args, rows->ids[i]);
    db_args_array_end(args);
    if (db_run_text(db, sql, args, &settled, &err) < 0)
        code = session_failed(QUARANTINE_NAME, db, &err);
    for (int i = 0; code == EXIT_DONE && i < db_rows(settled); i++) {
        fprintf(out, "%lld: %.*s\n", (long long)db_int(settled, i, 0),
                STR_ARG(db_text(settled, i, 2)));
        *refused = *refused || str_is(db_text(settled, i, 1), "refused");
        forget(rows, db_int(settled, i, 0));
    }
    fflush(out);
    db_result_free(settled);
    db_args_free(args);
    return code;
}

static int wait_for_daemon(struct db *db, struct rows *rows, int64_t wait_ms, FILE *out)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000};
    int64_t until = clock_mono_us() + wait_ms * 1000;
    bool refused = false;
    int code = print_settled(db, rows, &refused, out);

    while (code == EXIT_DONE && rows->count > 0 && clock_mono_us() < until) {
        nanosleep(&tick, NULL);
        code = print_settled(db, rows, &refused, out);
    }
    if (code == EXIT_DONE && rows->count > 0) {
        fprintf(stderr,
                "inboxctl: " QUARANTINE_NAME ": no daemon has taken %zu of them yet; they stay "
                "marked, see: inboxctl quarantine list\n",
                rows->count);
        return EXIT_UNREACHABLE;
    }
    return code == EXIT_DONE && refused ? EXIT_FAILED : code;
}

/* ---- the actions ---- */

static int release_rows(struct db *db, struct rows *rows, const struct request *request, FILE *out)
{
    int code = mark(db, rows, request->unverified, out), waited;

    if (rows->count == 0) {
        if (code == EXIT_DONE)
            fputs("nothing to release\n", out);
        return code;
    }
    waited = wait_for_daemon(db, rows, request->wait_ms, out);
    return code == EXIT_DONE ? waited : code;
}

static int drop_rows(struct db *db, const struct rows *rows, FILE *out)
{
    int code = EXIT_DONE, one;

    for (size_t i = 0; i < rows->count; i++) {
        one = call(db, "select inboxd.drop_quarantined($1)", rows->ids[i], NULL, true, out);
        code = code == EXIT_DONE ? one : code;
    }
    return code;
}

/* What both have in common. */
static int run(const struct context *context, const struct request *request, bool release,
               char **words, int count)
{
    const char *condition = release ? "state in ('kept', 'refused', 'marked')"
                                      " and reason <> 'different duplicate'"
                                    : "true";
    struct rows rows = {0};
    struct db *db;
    int code = read_words(words, count, &rows);

    if (code == EXIT_DONE && (db = session_connect(context, false, &code))) {
        if (request->all)
            code = find_all(db, &request->filter, condition, &rows);
        if (code == EXIT_DONE)
            code = release ? release_rows(db, &rows, request, context->out)
                           : drop_rows(db, &rows, context->out);
        db_free(db);
    }
    free(rows.ids);
    return code;
}

int ctl_quarantine_release(const struct context *context, int argc, char **argv)
{
    struct request request = {.filter = {.since_ms = -1}, .wait_ms = 30000};
    const struct option_spec specs[] = {
        {"provider", OPTION_TEXT, {.text = &request.filter.provider}},
        {"reason", OPTION_TEXT, {.text = &request.filter.reason}},
        {"since", OPTION_DURATION, {.number = &request.filter.since_ms}},
        {"all", OPTION_FLAG, {.flag = &request.all}},
        {"unverified", OPTION_FLAG, {.flag = &request.unverified}},
        {"wait", OPTION_DURATION, {.number = &request.wait_ms}},
        {0}};
    int words, code;

    if (options_parse(QUARANTINE_NAME, specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    code = check_request("release", &request, words);
    return code == EXIT_DONE ? run(context, &request, true, argv + 1, words) : code;
}

int ctl_quarantine_drop(const struct context *context, int argc, char **argv)
{
    struct request request = {.filter = {.since_ms = -1}};
    const struct option_spec specs[] = {
        {"provider", OPTION_TEXT, {.text = &request.filter.provider}},
        {"reason", OPTION_TEXT, {.text = &request.filter.reason}},
        {"since", OPTION_DURATION, {.number = &request.filter.since_ms}},
        {"all", OPTION_FLAG, {.flag = &request.all}},
        {0}};
    int words, code;

    if (options_parse(QUARANTINE_NAME, specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    code = check_request("drop", &request, words);
    return code == EXIT_DONE ? run(context, &request, false, argv + 1, words) : code;
}
