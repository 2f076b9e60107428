/* `sql:schema.fn`: a function that takes an inboxd.event and returns void. The event is loaded on
 * the server, so that its content never travels. */
#include "work/handler.h"

void handler_sql_names(const struct action *action, struct str *schema, struct str *function)
{
    const char *dot = memchr(action->name.ptr, '.', action->name.len);

    *schema = (struct str){action->name.ptr, (size_t)(dot - action->name.ptr)};
    *function = (struct str){dot + 1, action->name.len - schema->len - 1};
}

/* Names as PostgreSQL has them without quotes; they are quoted all the same, since some are
 * keywords. */
static bool is_name(struct str name)
{
    if (name.len == 0 || name.len > 63)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || c == '_' ||
              (i > 0 && ((c >= '0' && c <= '9') || c == '$'))))
            return false;
    }
    return true;
}

static int compile(struct action *action, struct arena *arena, struct err *err)
{
    struct str schema, function;

    if (memchr(action->name.ptr, '.', action->name.len)) {
        handler_sql_names(action, &schema, &function);
        if (is_name(schema) && is_name(function)) {
            action->call =
                arena_printf(arena, "select \"%.*s\".\"%.*s\"(inboxd.load_event($1, $2))",
                             STR_ARG(schema), STR_ARG(function));
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "\"%.*s\" does not name a function; write sql:SCHEMA.FUNCTION",
                   STR_ARG(action->name));
}

static int send(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err)
{
    db_args_clear(args);
    db_args_int8(args, event->id);
    db_args_int4(args, event->attempt);
    return db_send_text(db, action->call, args, err) < 0 ? -1 : 1;
}

const struct handler_kind handler_sql = {"sql", true, WORK_SQL, compile, send};
