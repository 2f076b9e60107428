/* `machine = NAME`: judges an event by the transitions of a state machine before its handlers run,
 * under their savepoint: what comes too early is deferred, what comes too late is done (the
 * SQLSTATEs of inboxd.advance_event). No action that one could write: a plan puts it in front. */
#include "work/handler.h"

static int send(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, action->name);
    db_args_int8(args, event->id);
    return db_send_text(db, "select inboxd.advance_event($1, $2)", args, err) < 0 ? -1 : 1;
}

const struct handler_kind handler_machine = {.name = "machine", .class = WORK_SQL, .send = send};
