/* Migrations. The advisory lock is taken inside each migration's transaction: two migrators at once
 * take turns, and the second finds the migration done. Statements that need a strong lock give up
 * after half a second and the whole migration is tried again. */
#include "db/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/mem.h"

/* "inboxd", so that it stands apart from other programs' locks. */
#define LOCK_SQL                                                                                   \
    "SET LOCAL lock_timeout = '10s'; SELECT pg_catalog.pg_advisory_xact_lock(1768841848, 1);"      \
    "SET LOCAL lock_timeout = '500ms'"
#define RETRY_PAUSE_MS 250

static int version_of(const char *name)
{
    return (int)strtol(name, NULL, 10);
}

int migrate_known_version(void)
{
    return version_of(embedded_migrations[embedded_migrations_count - 1].name);
}

/* "-- min-daemon: N" on the first line; the build's SQL tests see to it that it is there. */
static int min_daemon_of(const struct embedded *migration)
{
    static const char mark[] = "-- min-daemon: ";

    if (strncmp(migration->text, mark, sizeof(mark) - 1) != 0)
        abort();
    return (int)strtol(migration->text + sizeof(mark) - 1, NULL, 10);
}

/* Version of the schema (0: none) and the oldest daemon that it bears. */
static int read_version(struct db *db, int *version, int *min_daemon, struct err *err)
{
    struct db_result *rows = NULL;
    int rc = -1;

    *version = *min_daemon = 0;
    if (db_run_text(db, "select pg_catalog.to_regclass('inboxd.schema_migration') is not null",
                    NULL, &rows, err) < 0)
        return -1;
    if (!db_bool(rows, 0, 0)) {
        db_result_free(rows);
        return 0;
    }
    db_result_free(rows);
    rows = NULL;
    if (db_run_text(db,
                    "select coalesce(max(version), 0), coalesce(max(min_daemon), 0)"
                    " from inboxd.schema_migration",
                    NULL, &rows, err) < 0)
        goto out;
    *version = (int)db_int(rows, 0, 0);
    *min_daemon = (int)db_int(rows, 0, 1);
    rc = 0;
out:
    db_result_free(rows);
    return rc;
}

int migrate_check(struct db *db, struct err *err)
{
    int version, min_daemon, known = migrate_known_version();

    if (read_version(db, &version, &min_daemon, err) < 0)
        return -1;
    if (version == 0)
        return err_set(err, ERR_NEVER,
                       "the database has no inboxd schema; run: inboxctl --config FILE migrate");
    if (version < known)
        return err_set(
            err, ERR_NEVER,
            "the schema has version %d, this program needs %d; run: inboxctl --config FILE migrate",
            version, known);
    if (known < min_daemon)
        return err_set(err, ERR_NEVER,
                       "the schema has version %d and needs a program that knows version %d; this "
                       "one knows %d: "
                       "install a newer inboxd",
                       version, min_daemon, known);
    return 0;
}

/* Several statements, so not one that could be prepared. */
static const char *table_sql(void)
{
    for (size_t i = 0; i < embedded_queries_count; i++)
        if (strcmp(embedded_queries[i].name, "migration_table.sql") == 0)
            return embedded_queries[i].text;
    abort();
}

static int is_applied(struct db *db, int version, bool *applied, struct err *err)
{
    struct db_args *args = db_args_new();
    struct db_result *rows = NULL;
    int rc;

    db_args_int4(args, version);
    rc = db_run_text(db, "select exists (select from inboxd.schema_migration where version = $1)",
                     args, &rows, err);
    if (rc == 0)
        *applied = db_bool(rows, 0, 0);
    db_result_free(rows);
    db_args_free(args);
    return rc;
}

static int record(struct db *db, const struct embedded *migration, struct err *err)
{
    struct db_args *args = db_args_new();
    int rc;

    db_args_int4(args, version_of(migration->name));
    db_args_text(args, str_from(migration->name));
    db_args_int4(args, min_daemon_of(migration));
    rc = db_run_text(
        db, "insert into inboxd.schema_migration (version, name, min_daemon) values ($1, $2, $3)",
        args, NULL, err);
    db_args_free(args);
    return rc;
}

/* One migration in one transaction. *done tells whether it was this call that applied it. */
static int apply(struct db *db, const struct embedded *migration, bool *done, struct err *err)
{
    bool applied = false;
    int rc = -1;

    if (db_exec(db, "BEGIN", err) < 0)
        return -1;
    if (db_exec(db, LOCK_SQL, err) < 0 || db_exec(db, table_sql(), err) < 0 ||
        is_applied(db, version_of(migration->name), &applied, err) < 0)
        goto out;
    if (!applied && (db_exec(db, migration->text, err) < 0 || record(db, migration, err) < 0))
        goto out;
    rc = db_exec(db, "COMMIT", err);
    if (rc == 0)
        *done = !applied;
out:
    if (rc < 0 && db_connected(db)) {
        enum db_fault fault = db_fault(db);
        struct err ignored;

        if (db_exec(db, "ROLLBACK", &ignored) < 0)
            db_disconnect(db);
        /* The caller asks for the fault of the migration, not of the rollback. */
        return fault == DB_FAULT_LOCKED ? 1 : -1;
    }
    return rc;
}

static void pause_ms(long ms)
{
    struct timespec duration = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&duration, NULL);
}

int migrate_run(struct db *db, int64_t patience_ms,
                void (*report)(void *argument, enum migrate_step step, const char *name),
                void *argument, int *applied, struct err *err)
{
    int64_t give_up = clock_mono_us() + patience_ms * 1000;

    *applied = 0;
    for (size_t i = 0; i < embedded_migrations_count; i++) {
        const struct embedded *migration = &embedded_migrations[i];
        bool done = false;
        int rc;

        while ((rc = apply(db, migration, &done, err)) > 0) {
            if (clock_mono_us() > give_up)
                return err_prefix(err, "migration %s", migration->name);
            if (report)
                report(argument, MIGRATE_WAITING, migration->name);
            pause_ms(RETRY_PAUSE_MS);
        }
        if (rc < 0)
            return err_prefix(err, "migration %s", migration->name);
        if (done && report)
            report(argument, MIGRATE_APPLIED, migration->name);
        *applied += done;
    }
    return 0;
}
