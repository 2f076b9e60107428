/* A connection in the hands of code that is not ours. What it may not do is found when it comes
 * back; what cannot be told from a healthy session is left behind with the session. */
#include "db/connection.h"

struct pg_conn *db_lend(struct db *db)
{
    PQsetnonblocking(db->conn, 0);
    db->lent_pid = PQbackendPID(db->conn);
    return db->conn;
}

/* Reads what it left unread; false: it left the connection where that has no end. */
static bool settle_down(PGconn *conn)
{
    PGresult *rows;

    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return false;
    while ((rows = PQgetResult(conn))) {
        ExecStatusType status = PQresultStatus(rows);

        PQclear(rows);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
            return false;
    }
    return true;
}

static int leave(struct db *db, const char *why, struct err *err)
{
    db_disconnect(db);
    return err_set(err, ERR_AGAIN, "%s", why);
}

int db_take_back(struct db *db, struct err *err)
{
    bool busy = PQstatus(db->conn) == CONNECTION_OK && !settle_down(db->conn);

    if (PQstatus(db->conn) != CONNECTION_OK)
        return db_note_lost(db, PQerrorMessage(db->conn), err);
    if (PQbackendPID(db->conn) != db->lent_pid)
        return leave(db, "it connected anew, outside of the transaction that it was lent", err);
    if (busy || PQsetnonblocking(db->conn, 1) < 0)
        return leave(db, "it left the connection in the middle of a statement", err);
    PQsetNoticeReceiver(db->conn, db_on_notice, db);
    switch (PQtransactionStatus(db->conn)) {
    case PQTRANS_INTRANS:
        return 0;
    case PQTRANS_INERROR:
        return err_set(err, ERR_AGAIN, "it left its transaction failed");
    case PQTRANS_IDLE:
        return err_set(err, ERR_AGAIN, "it ended the transaction that it was lent");
    case PQTRANS_ACTIVE:
    case PQTRANS_UNKNOWN:
        break;
    }
    return leave(db, "it left the connection in the middle of a statement", err);
}
