/* inboxctl status: what wants a person, the backlog, what is stuck, which daemons live. */
#include <stdio.h>
#include <time.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "ctl/table.h"

#define WATCH_INTERVAL_S 2

static const char alerts_sql[] =
    "select condition as alert, provider, date_trunc('second', now() - since)::text as age, detail,"
    "       advice"
    "  from inboxd.alerts order by since nulls first, condition, provider limit 50";

static const char backlog_sql[] =
    "select provider, ready::text as n_ready, scheduled::text as n_scheduled, deferred::text as "
    "n_deferred,"
    "       processing::text as n_processing, dead::text as n_dead,"
    "       date_trunc('second', oldest_age)::text as oldest, done_last_hour::text as \"n_done/h\","
    "       failed_last_hour::text as \"n_failed/h\", date_trunc('second', drain_estimate)::text "
    "as drain"
    "  from inboxd.backlog order by provider";

static const char daemons_sql[] =
    "select host || ' ' || pid as daemon, version, workers::text as n_workers,"
    "       hung::text as n_hung,"
    "       array_to_string(providers, ' ') as providers, date_trunc('second', now() - "
    "started_at)::text as up,"
    "       date_trunc('second', now() - seen_at)::text as seen"
    "  from inboxd.daemon where seen_at > now() - interval '1 minute' order by host, pid";

static const char paused_sql[] =
    "select provider, date_trunc('second', now() - since)::text || ' ago' as since, who, why"
    "  from inboxd.paused order by since";

static const char stuck_sql[] = "select provider, count(*)::text as n_events, why from inboxd.stuck"
                                " group by provider, why order by count(*) desc limit 10";

static const char errors_sql[] =
    "select provider, events::text as n_events, dead::text as n_dead, error"
    "  from inboxd.top_errors limit 5";

static const char secrets_sql[] =
    "select provider, number::text as n_number, reference,"
    "       coalesce(date_trunc('second', now() - last_used_at)::text || ' ago', 'never') as used"
    "  from inboxd.secret_use where retire limit 10";

static const char quarantine_sql[] =
    "select provider, count(*)::text as n_kept, mode() within group (order by reason) as mostly,"
    "       date_trunc('second', now() - max(received_at))::text || ' ago' as last"
    "  from inboxd.quarantine where state in ('kept', 'refused') group by provider"
    " order by count(*) desc limit 10";

static const char retention_sql[] =
    "select kind, coalesce(horizon::text, 'for ever') as kept,"
    "       date_trunc('second', oldest_age)::text as oldest, removed::text as n_removed,"
    "       date_trunc('second', now() - removed_at)::text || ' ago' as \"last removed\","
    "       date_trunc('second', now() - ran_at)::text || ' ago' as \"last purge\""
    "  from inboxd.retention";

static const char json_sql[] =
    "select jsonb_build_object("
    "  'schema', (select max(version) from inboxd.schema_migration),"
    "  'alerts', (select coalesce(jsonb_agg(to_jsonb(a) order by a.since, a.condition, "
    "a.provider), "
    "'[]') from inboxd.alerts a),"
    "  'backlog', (select coalesce(jsonb_agg(to_jsonb(b) order by b.provider), '[]') from "
    "inboxd.backlog b),"
    "  'paused', (select coalesce(jsonb_agg(to_jsonb(p) order by p.since), '[]') from "
    "inboxd.paused p),"
    "  'retention', (select jsonb_agg(to_jsonb(r)) from inboxd.retention r),"
    "  'stuck', (select count(*) from inboxd.stuck),"
    "  'errors', (select coalesce(jsonb_agg(to_jsonb(e)), '[]') from (select * from "
    "inboxd.top_errors limit 5) e),"
    "  'secrets', (select coalesce(jsonb_agg(to_jsonb(s) order by s.provider, s.number), '[]') "
    "from "
    "inboxd.secret_use s),"
    "  'quarantine', (select coalesce(jsonb_object_agg(q.provider, q.kept), '{}') from (select "
    "provider, count(*) as kept"
    "                   from inboxd.quarantine where state in ('kept', 'refused') group by 1) q),"
    "  'daemons', (select coalesce(jsonb_agg(to_jsonb(d) order by d.host, d.pid), '[]') from "
    "inboxd.daemon d"
    "               where d.seen_at > now() - interval '1 minute'))::text";

/* One section: nothing at all where there are no rows, unless `always`. */
static int section(struct db *db, const char *sql, const char *title, bool always, FILE *out,
                   struct err *err)
{
    struct db_result *rows = NULL;

    if (db_run_text(db, sql, NULL, &rows, err) < 0)
        return -1;
    if (always || db_rows(rows) > 0) {
        fprintf(out, "%s%s\n", title, db_rows(rows) ? "" : ": none");
        if (db_rows(rows) > 0)
            table_print(rows, out);
        fputc('\n', out);
    }
    db_result_free(rows);
    return 0;
}

/* A table would be too wide for what there is to say. */
static int print_alerts(struct db *db, FILE *out, struct err *err)
{
    struct db_result *rows = NULL;

    if (db_run_text(db, alerts_sql, NULL, &rows, err) < 0)
        return -1;
    for (int i = 0; i < db_rows(rows); i++) {
        table_print_record(rows, i, out);
        fputc('\n', out);
    }
    db_result_free(rows);
    return 0;
}

static int print_tables(struct db *db, FILE *out, struct err *err)
{
    if (print_alerts(db, out, err) < 0 || section(db, backlog_sql, "backlog", true, out, err) < 0 ||
        section(db, paused_sql, "paused", false, out, err) < 0 ||
        section(db, stuck_sql, "stuck", false, out, err) < 0 ||
        section(db, errors_sql, "errors", false, out, err) < 0 ||
        section(db, quarantine_sql, "refused requests that are kept", false, out, err) < 0 ||
        section(db, secrets_sql, "secrets that others have replaced for a week or longer", false,
                out, err) < 0)
        return -1;
    if (section(db, retention_sql, "what is kept", true, out, err) < 0)
        return -1;
    return section(db, daemons_sql, "daemons", true, out, err);
}

static int print_json(struct db *db, FILE *out, struct err *err)
{
    struct db_result *rows = NULL;

    if (db_run_text(db, json_sql, NULL, &rows, err) < 0)
        return -1;
    fprintf(out, "%.*s\n", STR_ARG(db_text(rows, 0, 0)));
    db_result_free(rows);
    return 0;
}

static void clear_screen(FILE *out)
{
    char now[32];
    time_t seconds = time(NULL);
    struct tm tm;

    (void)localtime_r(&seconds, &tm);
    (void)strftime(now, sizeof(now), "%F %T", &tm);
    fprintf(out, "\033[H\033[2J%s\n\n", now);
}

int ctl_status(const struct context *context, int argc, char **argv)
{
    bool watch = false, json = false;
    const struct option_spec specs[] = {
        {"watch", OPTION_FLAG, {.flag = &watch}}, {"json", OPTION_FLAG, {.flag = &json}}, {0}};
    const struct timespec interval = {.tv_sec = WATCH_INTERVAL_S};
    struct err err = {0};
    struct db *db;
    int words, code, rc;

    if (options_parse("status", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage("status", "takes no words, but there is \"%s\"", argv[1]);
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    do {
        if (watch && !json)
            clear_screen(context->out);
        rc = json ? print_json(db, context->out, &err) : print_tables(db, context->out, &err);
        fflush(context->out);
    } while (rc == 0 && watch && nanosleep(&interval, NULL) == 0);
    if (rc < 0)
        code = session_failed("status", db, &err);
    db_free(db);
    return code;
}
