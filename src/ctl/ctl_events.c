/* inboxctl list and show: events as they are in the inbox. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "ctl/table.h"

/* ---- list ---- */

struct list_filter {
    const char *provider, *status, *type, *event_id, *error;
    int64_t since_ms, limit;
    bool json;
};

static const struct {
    const char *name;
    int code;
} statuses[] = {{"ready", 0}, {"processing", 1}, {"done", 2}, {"dead", 3}};

static int status_code(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (strcmp(statuses[i].name, name) == 0)
            return statuses[i].code;
    return -1;
}

/* Appends "BEFORE $n AFTER" when there is a value. */
static void add_text_condition(struct buf *sql, struct db_args *args, int *n, const char *value,
                               const char *before, const char *after)
{
    if (!value)
        return;
    buf_printf(sql, " and %s $%d %s", before, ++*n, after);
    db_args_text(args, str_from(value));
}

/* The planner prunes the view's branches only by a literal status. Where done events count as well,
 * recent_events reads the newest rows instead of sorting all history. */
static void build_list(const struct list_filter *filter, struct buf *sql, struct db_args *args)
{
    static const char columns[] =
        "select id::text as n_id, provider, event_id, event_type as type,"
        " case status when 0 then 'ready' when 1 then 'processing' when 2 then 'done' else 'dead' "
        "end as status,"
        " attempt::text as n_attempt, date_trunc('second', received_at)::text as received,"
        " date_trunc('second', coalesce(processed_at, next_attempt_at))::text as \"next or end\","
        " left(last_error, 80) as error";
    int n = 0;

    buf_put_str(sql, filter->json
                         ? STR("select (to_jsonb(i) - 'body' - 'payload' - 'headers')::text")
                         : str_from(columns));
    bool history = !filter->status || strcmp(filter->status, "done") == 0;
    buf_printf(sql, " from inboxd.%s i where true", history ? "recent_events" : "webhook_inbox");
    if (filter->status)
        buf_printf(sql, " and status = %d", status_code(filter->status));
    add_text_condition(sql, args, &n, filter->provider, "provider =", "");
    add_text_condition(sql, args, &n, filter->event_id, "event_id =", "");
    add_text_condition(sql, args, &n, filter->type, "event_type like replace(replace(replace(",
                       ", '\\', '\\\\'), '_', '\\_'), '*', '%')");
    add_text_condition(sql, args, &n, filter->error, "strpos(last_error,", ") > 0");
    if (filter->since_ms >= 0) {
        buf_printf(sql, " and received_at > now() - $%d * interval '1 millisecond'", ++n);
        db_args_int8(args, filter->since_ms);
    }
    buf_printf(sql, " order by id desc limit %lld", (long long)filter->limit);
}

static int run_list(struct db *db, const struct list_filter *filter, FILE *out)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    struct err err = {0};
    struct buf sql;
    int code = EXIT_DONE;

    buf_init(&sql, BUF_NO_CAP);
    build_list(filter, &sql, args);
    buf_put_char(&sql, '\0');
    if (db_run_text(db, sql.data, args, &rows, &err) < 0)
        code = session_failed("list", db, &err);
    else if (filter->json)
        for (int row = 0; row < db_rows(rows); row++)
            fprintf(out, "%.*s\n", STR_ARG(db_text(rows, row, 0)));
    else if (db_rows(rows) == 0)
        fputs("no events\n", out);
    else
        table_print(rows, out);
    db_result_free(rows);
    buf_release(&sql);
    db_args_free(args);
    return code;
}

int ctl_list(const struct context *context, int argc, char **argv)
{
    struct list_filter filter = {.since_ms = -1, .limit = 50};
    const struct option_spec specs[] = {{"provider", OPTION_TEXT, {.text = &filter.provider}},
                                        {"status", OPTION_TEXT, {.text = &filter.status}},
                                        {"type", OPTION_TEXT, {.text = &filter.type}},
                                        {"event-id", OPTION_TEXT, {.text = &filter.event_id}},
                                        {"since", OPTION_DURATION, {.number = &filter.since_ms}},
                                        {"error", OPTION_TEXT, {.text = &filter.error}},
                                        {"limit", OPTION_COUNT, {.number = &filter.limit}},
                                        {"json", OPTION_FLAG, {.flag = &filter.json}},
                                        {0}};
    struct db *db;
    int words, code;

    if (options_parse("list", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage("list", "takes no words, but there is \"%s\"; use an option", argv[1]);
    if (filter.status && status_code(filter.status) < 0)
        return command_usage("list", "--status is one of ready, processing, done, dead; not \"%s\"",
                             filter.status);
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = run_list(db, &filter, context->out);
    db_free(db);
    return code;
}

/* ---- show ---- */

static const char event_sql[] =
    "select id::text as id, provider, event_id, event_type as type, ordering_key,"
    "       case status when 0 then 'ready' when 1 then 'processing' when 2 then 'done' else "
    "'dead' end as status,"
    "       received_at::text, event_time::text, next_attempt_at::text, processed_at::text, "
    "deferred_since::text, "
    "attempt::text,"
    "       signature_verified::text, payload_repaired::text, source_ip::text, "
    "octet_length(body)::text as body_bytes,"
    "       last_error"
    "  from inboxd.webhook_inbox where id = $1";

static const char attempts_sql[] =
    "select attempt::text as n_attempt, at::text as at, kind,"
    "       round(extract(epoch from took) * 1000)::text as n_ms, worker, error"
    "  from inboxd.attempt_log where id = $1 order by at";

static const char headers_sql[] =
    "select h.key as header, h.value from inboxd.webhook_inbox i, jsonb_each_text(i.headers) h"
    " where i.id = $1 order by h.key";

static const char payload_sql[] =
    "select jsonb_pretty(payload) from inboxd.webhook_inbox where id = $1";
static const char body_sql[] = "select body from inboxd.webhook_inbox where id = $1";

static const char json_sql[] = "select (to_jsonb(i) - 'body' || jsonb_build_object("
                               "  'body_base64', encode(i.body, 'base64'),"
                               "  'attempts', (select coalesce(jsonb_agg(to_jsonb(a) order by "
                               "a.at), '[]') from inboxd.attempt_log a"
                               "                where a.id = i.id)))::text"
                               "  from inboxd.webhook_inbox i where i.id = $1";

static int print_event(struct db *db, struct db_args *id, const struct db_result *event, FILE *out,
                       struct err *err)
{
    struct db_result *headers = NULL, *payload = NULL, *attempts = NULL;
    int rc = -1;

    table_print_record(event, 0, out);
    if (db_run_text(db, headers_sql, id, &headers, err) < 0 ||
        db_run_text(db, payload_sql, id, &payload, err) < 0 ||
        db_run_text(db, attempts_sql, id, &attempts, err) < 0)
        goto out;
    fputs("\nheaders\n", out);
    if (db_rows(headers) > 0)
        table_print(headers, out);
    if (db_rows(payload) > 0 && !db_is_null(payload, 0, 0))
        fprintf(out, "\npayload\n%.*s\n", STR_ARG(db_text(payload, 0, 0)));
    else
        fputs("\nno payload (see --body)\n", out);
    if (db_rows(attempts) > 0) {
        fputs("\nattempts that were not a plain success\n", out);
        table_print(attempts, out);
    }
    rc = 0;
out:
    db_result_free(headers);
    db_result_free(payload);
    db_result_free(attempts);
    return rc;
}

/* What is asked for decides the statement; all of them take the id and return one row, or none. */
static int run_show(struct db *db, int64_t id, bool body, bool json, FILE *out)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    struct err err = {0};
    int rc, code = EXIT_DONE;

    db_args_int8(args, id);
    rc = db_run_text(db, body ? body_sql : json ? json_sql : event_sql, args, &rows, &err);
    if (rc == 0 && db_rows(rows) == 0) {
        fprintf(stderr,
                "inboxctl: show: there is no event with id %lld; \"inboxctl list\" lists them\n",
                (long long)id);
        code = EXIT_FAILED;
    } else if (rc == 0 && body) {
        struct str bytes = db_text(rows, 0, 0);

        fwrite(bytes.ptr ? bytes.ptr : "", 1, bytes.len, out);
    } else if (rc == 0 && json) {
        fprintf(out, "%.*s\n", STR_ARG(db_text(rows, 0, 0)));
    } else if (rc == 0) {
        rc = print_event(db, args, rows, out, &err);
    }
    if (rc < 0)
        code = session_failed("show", db, &err);
    db_result_free(rows);
    db_args_free(args);
    return code;
}

int ctl_show(const struct context *context, int argc, char **argv)
{
    bool body = false, json = false;
    const struct option_spec specs[] = {
        {"body", OPTION_FLAG, {.flag = &body}}, {"json", OPTION_FLAG, {.flag = &json}}, {0}};
    struct db *db;
    int64_t id;
    int words, code;

    if (options_parse("show", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1 || options_number(argv[1], &id) < 0)
        return command_usage("show", "wants the id of one event, a whole number");
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = run_show(db, id, body, json, context->out);
    db_free(db);
    return code;
}
