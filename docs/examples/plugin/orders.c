/* A handler in C: notes orders that were paid, each exactly once, however often the event is run.
 *
 *     create schema shop;
 *     create table shop.paid_order (number text primary key, event_id text not null);
 *     grant usage on schema shop to inboxd_daemon;
 *     grant insert on shop.paid_order to inboxd_daemon;
 */
#include <inboxd/handler.h>
#include <libpq-fe.h>
#include <string.h>

/* "invoice.paid" and the like are of no interest here. */
static int concerns_us(struct inboxd_event *event)
{
    struct inboxd_text type = inboxd_type(event);

    return type.ptr && strcmp(type.ptr, "order.paid") == 0;
}

static int on_event(struct inboxd_event *event, void *module, void *thread)
{
    static const char insert[] = "insert into shop.paid_order (number, event_id)"
                                 " select $1::jsonb #>> '{order,number}', $2";
    const char *values[] = {inboxd_payload(event).ptr, inboxd_event_id(event).ptr};
    const char *state;
    PGconn *conn;
    PGresult *result;
    int end;

    (void)module;
    (void)thread;
    if (!concerns_us(event))
        return INBOXD_DONE; /* without a round trip */
    if (!values[0])
        return inboxd_reject(event, "an order without JSON");
    conn = inboxd_connection(event);
    if (!conn)
        return INBOXD_RETRY;

    result = PQexecParams(conn, insert, 2, NULL, values, NULL, NULL, 0);
    state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (PQresultStatus(result) == PGRES_COMMAND_OK)
        end = INBOXD_DONE;
    else if (state && strcmp(state, "23502") == 0) /* not null: there is no number */
        end = inboxd_reject(event, "an order without a number");
    else
        end = inboxd_retry(event, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    PQclear(result);
    return end; /* the commit is the daemon's */
}

INBOXD_MODULE(.handle = on_event);
