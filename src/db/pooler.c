/* A pooler hands out process ids of its own, so ours is not what the server says. Then it is asked
 * what it does with sessions: while others are within transactions, the first connection still has
 * the process that it began with, and none of them does, or sessions are shared. */
#include "db/pooler.h"

#include <string.h>

#include "db/connection.h"

#define TIMEOUT_MS 2000
#define OTHERS 8 /* connections that try to get the first one's session */

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

/* 1: the connection has the session that another one began with; 0: one of its own, within a
 * transaction from now on. */
static int takes_session(struct db *db, int64_t began, struct err *err)
{
    int64_t pid = 0;

    if (db_exec(db, "BEGIN", err) < 0) /* pool_mode = statement knows no transactions */
        return strcmp(db_sqlstate(db), "08P01") == 0 ? 1 : -1;
    if (backend(db, &pid, err) < 0)
        return -1;
    return pid == began;
}

/* Where sessions are shared, the first one's is idle, and one of those who ask for one gets it:
 * each of them keeps what it got. */
static int compare_sessions(struct db *first, int64_t began, const char *conninfo, struct err *err)
{
    struct db *others[OTHERS] = {NULL};
    int64_t now = 0;
    int taken = 0;

    for (size_t i = 0; i < OTHERS && taken == 0; i++) {
        others[i] = open_connection(conninfo, err);
        taken = others[i] ? takes_session(others[i], began, err) : -1;
        if (taken < 0 && i > 0) { /* the pool has no more */
            taken = 0;
            break;
        }
    }
    if (taken == 0 && backend(first, &now, err) < 0)
        taken = -1;
    for (size_t i = 0; i < OTHERS; i++)
        db_free(others[i]);
    if (taken < 0)
        return -1;
    return taken || now != began ? refuse(err) : 0;
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
