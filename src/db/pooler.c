/* A pooler hands out process ids of its own, so ours is not what the server says. Then it is asked
 * what it does with sessions: while a second connection is within a transaction, the first one
 * still has the process that it began with, and the second one another, or sessions are shared. */
#include "db/pooler.h"

#include <string.h>

#include "db/connection.h"

#define TIMEOUT_MS 5000

static struct db *open_connection(const char *conninfo, struct err *err)
{
    struct db *db = db_new(&(struct db_options){
        .conninfo = conninfo, .application_name = "inboxd start", .connect_timeout_ms = 2000});

    db_set_timeout(db, TIMEOUT_MS);
    if (db_connect(db, err) == 0)
        return db;
    db_free(db);
    return NULL;
}

static int backend(struct db *db, int64_t *pid, struct err *err)
{
    struct db_result *rows = NULL;

    if (db_run_text(db, "select pg_backend_pid()", NULL, &rows, err) < 0)
        return -1;
    *pid = db_int(rows, 0, 0);
    db_result_free(rows);
    return 0;
}

static int refuse(struct err *err)
{
    return err_set(err, ERR_NEVER,
                   "the connection goes through a pooler that gives each transaction another "
                   "session (PgBouncer: pool_mode = transaction); let \"database\" name the server "
                   "itself, or a pool with pool_mode = session");
}

static int compare_sessions(struct db *first, int64_t began, const char *conninfo, struct err *err)
{
    struct db *second = open_connection(conninfo, err);
    int64_t other = 0, now = 0;
    int rc = -1;

    if (!second)
        return -1;
    if (db_exec(second, "BEGIN", err) < 0) {
        /* pool_mode = statement knows no transactions */
        rc = strcmp(db_sqlstate(second), "08P01") == 0 ? refuse(err) : -1;
        goto out;
    }
    if (backend(second, &other, err) < 0 || backend(first, &now, err) < 0 ||
        db_exec(second, "ROLLBACK", err) < 0)
        goto out;
    rc = other == began || now != began ? refuse(err) : 0;
out:
    db_free(second);
    return rc;
}

int pooler_check(const char *conninfo, struct err *err)
{
    struct db *db = open_connection(conninfo, err);
    int64_t pid = 0;
    int rc = -1;

    if (!db)
        return -1;
    if (backend(db, &pid, err) == 0)
        rc = pid == PQbackendPID(db->conn) ? 0 : compare_sessions(db, pid, conninfo, err);
    db_free(db);
    return rc;
}
