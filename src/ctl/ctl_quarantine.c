/* inboxctl quarantine list and show: what was refused and is kept. Releasing and dropping it is in
 * ctl_quarantine_release.c. */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/quarantine.h"
#include "ctl/session.h"
#include "ctl/table.h"

#define NAME QUARANTINE_NAME

/* ---- list ---- */

static const char list_sql[] =
    "select id::text as n_id, date_trunc('second', received_at)::text as received, provider, "
    "reason,"
    "       coalesce(host(source_ip), '-') as \"from\", bytes::text as n_bytes, state, result"
    "  from inboxd.quarantine where " QUARANTINE_FILTER " order by id desc limit $4";

static const char list_json_sql[] =
    "select jsonb_build_object('id', id, 'provider', provider, 'received_at', received_at, "
    "'reason', "
    "reason,"
    "   'source_ip', source_ip, 'method', method, 'target', target, 'bytes', bytes,"
    "   'body_sha256', encode(body_sha256, 'hex'), 'state', state, 'released_at', released_at,"
    "   'released_by', released_by, 'unverified', unverified, 'result', result,"
    "   'settled_at', settled_at, 'event', event)::text"
    "  from inboxd.quarantine where " QUARANTINE_FILTER " order by id desc limit $4";

void quarantine_put_filter(struct db_args *args, const struct quarantine_filter *filter)
{
    db_args_text(args, str_from(filter->provider));
    db_args_text(args, str_from(filter->reason));
    if (filter->since_ms >= 0)
        db_args_int8(args, filter->since_ms);
    else
        db_args_null(args, DB_INT8);
}

static void print_list(const struct db_result *rows, bool json, FILE *out)
{
    if (json)
        for (int row = 0; row < db_rows(rows); row++)
            fprintf(out, "%.*s\n", STR_ARG(db_text(rows, row, 0)));
    else if (db_rows(rows) == 0)
        fputs("nothing is kept\n", out);
    else
        table_print(rows, out);
}

static int run_list(struct db *db, const struct quarantine_filter *filter, int64_t limit, bool json,
                    FILE *out)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    quarantine_put_filter(args, filter);
    db_args_int8(args, limit);
    if (db_run_text(db, json ? list_json_sql : list_sql, args, &rows, &err) < 0)
        code = session_failed(NAME, db, &err);
    else
        print_list(rows, json, out);
    db_result_free(rows);
    db_args_free(args);
    return code;
}

static int list(const struct context *context, int argc, char **argv)
{
    struct quarantine_filter filter = {.since_ms = -1};
    int64_t limit = 50;
    bool json = false;
    const struct option_spec specs[] = {{"provider", OPTION_TEXT, {.text = &filter.provider}},
                                        {"reason", OPTION_TEXT, {.text = &filter.reason}},
                                        {"since", OPTION_DURATION, {.number = &filter.since_ms}},
                                        {"limit", OPTION_COUNT, {.number = &limit}},
                                        {"json", OPTION_FLAG, {.flag = &json}},
                                        {0}};
    struct db *db;
    int words, code;

    if (options_parse(NAME, specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage(NAME, "list takes no words, but there is \"%s\"; use an option",
                             argv[1]);
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = run_list(db, &filter, limit, json, context->out);
    db_free(db);
    return code;
}

/* ---- show ---- */

static const char row_sql[] =
    "select id::text, provider, received_at::text, reason, source_ip::text, method, target, "
    "bytes::text,"
    "       encode(body_sha256, 'hex') as body_sha256, state, released_at::text, released_by,"
    "       case when unverified then 'yes' end as unverified, result, settled_at::text, "
    "event::text"
    "  from inboxd.quarantine where id = $1";

static const char headers_sql[] = "select h.key, h.value from inboxd.quarantine q"
                                  " cross join lateral jsonb_each_text(q.headers) h"
                                  " where q.id = $1 order by h.key";

static const char body_sql[] = "select body from inboxd.quarantine where id = $1";

/* As `inboxctl verify` takes it. */
static const char request_sql[] = "select convert_to(coalesce(method, 'POST') || ' ' || "
                                  "coalesce(target, '/webhooks/' || provider) || E' HTTP/1.1\\r\\n'"
                                  "                  || coalesce((select string_agg(h.key || ': ' "
                                  "|| h.value || E'\\r\\n', '' order by h.key)"
                                  "                                 from "
                                  "jsonb_each_text(q.headers) h), '') || E'\\r\\n', 'UTF8') || body"
                                  "  from inboxd.quarantine q where id = $1";

static const char json_sql[] =
    "select (to_jsonb(q) - 'body' || jsonb_build_object('body_sha256', encode(body_sha256, 'hex'),"
    " 'body', encode(body, 'base64')))::text from inboxd.quarantine q where id = $1";

static int print_row(struct db *db, struct db_args *id, const struct db_result *row, FILE *out,
                     struct err *err)
{
    struct db_result *headers = NULL;

    table_print_record(row, 0, out);
    if (db_run_text(db, headers_sql, id, &headers, err) < 0)
        return -1;
    fputs("\nheaders\n", out);
    for (int i = 0; i < db_rows(headers); i++)
        fprintf(out, "  %.*s: %.*s\n", STR_ARG(db_text(headers, i, 0)),
                STR_ARG(db_text(headers, i, 1)));
    db_result_free(headers);
    return 0;
}

static int print_one(struct db *db, struct db_args *id, const struct db_result *row, bool plain,
                     FILE *out, struct err *err)
{
    struct str text;

    if (!plain)
        return print_row(db, id, row, out, err);
    text = db_text(row, 0, 0);
    if (fwrite(text.ptr, 1, text.len, out) != text.len)
        return err_set(err, ERR_AGAIN, "could not write the output");
    return 0;
}

static int run_show(struct db *db, int64_t number, const char *sql, bool plain, FILE *out)
{
    struct db_args *id = db_args_new();
    struct db_result *row = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    db_args_int8(id, number);
    if (db_run_text(db, sql, id, &row, &err) < 0) {
        code = session_failed(NAME, db, &err);
    } else if (db_rows(row) == 0) {
        fprintf(stderr, "inboxctl: " NAME ": there is no refused request %lld\n",
                (long long)number);
        code = EXIT_FAILED;
    } else if (plain && db_is_null(row, 0, 0)) {
        fprintf(stderr, "inboxctl: " NAME ": %lld is released, the event has its content\n",
                (long long)number);
        code = EXIT_FAILED;
    } else if (print_one(db, id, row, plain, out, &err) < 0) {
        code = session_failed(NAME, db, &err);
    }
    db_result_free(row);
    db_args_free(id);
    return code;
}

static int show(const struct context *context, int argc, char **argv)
{
    bool body = false, request = false, json = false;
    const char *sql = row_sql;
    const struct option_spec specs[] = {{"body", OPTION_FLAG, {.flag = &body}},
                                        {"request", OPTION_FLAG, {.flag = &request}},
                                        {"json", OPTION_FLAG, {.flag = &json}},
                                        {0}};
    struct db *db;
    int64_t id = 0;
    int words, code;

    if (options_parse(NAME, specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1 || options_number(argv[1], &id) < 0)
        return command_usage(NAME, "show wants the number of a refused request");
    if (body + request + json > 1)
        return command_usage(NAME, "show takes one of --body, --request and --json");
    if (body || request || json)
        sql = body ? body_sql : request ? request_sql : json_sql;
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = run_show(db, id, sql, sql != row_sql, context->out);
    if (json && code == EXIT_DONE)
        fputc('\n', context->out);
    db_free(db);
    return code;
}

/* ---- which one ---- */

int ctl_quarantine(const struct context *context, int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(const struct context *context, int argc, char **argv);
    } actions[] = {{"list", list},
                   {"show", show},
                   {"release", ctl_quarantine_release},
                   {"drop", ctl_quarantine_drop}};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        command_print_help(command_find(NAME), context->out);
        return EXIT_DONE;
    }
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(actions); i++)
        if (strcmp(argv[1], actions[i].word) == 0)
            return actions[i].run(context, argc - 1, argv + 1);
    return command_usage(NAME, "wants list, show, release or drop");
}
