/* `machine = NAME`: judges an event by the transitions of a state machine before its handlers run,
 * under their savepoint: what comes too early is deferred, what comes too late is done (the
 * SQLSTATEs of inboxd.advance_event). Programs and modules, which run before that transaction, are
 * judged for by themselves first. No action that one could write: a plan puts it in front. */
#include "work/handler.h"

static int send(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, action->name);
    db_args_int8(args, event->id);
    return db_send_text(db, "select inboxd.advance_event($1, $2)", args, err) < 0 ? -1 : 1;
}

static const char judge_sql[] =
    "select inboxd.transition_of($1, coalesce(s.state, ''), $3), coalesce(s.state, '')"
    "  from (values ($2::text)) v (entity)"
    "  left join inboxd.entity_state s on s.machine = $1::text and s.entity = v.entity";

static char *too_early(const struct handler_event *event, struct str state)
{
    if (state.len == 0)
        return mem_printf("too early: %.*s of %.*s, which is not known yet", STR_ARG(event->type),
                          STR_ARG(event->key));
    return mem_printf("too early: %.*s of %.*s, which is in state %.*s", STR_ARG(event->type),
                      STR_ARG(event->key), STR_ARG(state));
}

/* The same judgement, which moves nothing: the transaction of the outcome does. Texts as there. */
static int judge(struct db *db, struct db_args *args, const struct action *action,
                 const struct handler_event *event, struct handler_result *result, struct err *err)
{
    struct db_result *rows;
    struct str says;

    if (!event->key.ptr || !event->type.ptr)
        return 0;
    db_args_clear(args);
    db_args_text(args, action->name);
    db_args_text(args, event->key);
    db_args_text(args, event->type);
    if (db_run_text(db, judge_sql, args, &rows, err) < 0)
        return -1;
    says = db_text(rows, 0, 0); /* null: the machine does not name the type */
    if (str_equal(says, STR("early")))
        *result = (struct handler_result){
            .end = HANDLER_DEFER, .delay_s = -1, .error = too_early(event, db_text(rows, 0, 1))};
    else if (str_equal(says, STR("stale")))
        *result =
            (struct handler_result){.end = HANDLER_STALE,
                                    .error = mem_printf("stale: %.*s is past %.*s",
                                                        STR_ARG(event->key), STR_ARG(event->type))};
    else if (str_equal(says, STR("unknown")))
        *result = (struct handler_result){
            .end = HANDLER_RETRY,
            .error = mem_printf("machine '%.*s' does not know state '%.*s' (P0002)",
                                STR_ARG(action->name), STR_ARG(db_text(rows, 0, 1)))};
    db_result_free(rows);
    return 0;
}

const struct handler_kind handler_machine = {
    .name = "machine", .class = WORK_SQL, .send = send, .judge = judge};
