/* `sql:schema.fn`: a function that takes an inboxd.event and returns void. The event is loaded on
 * the server, so that its content never travels. */
#include "work/handler.h"

void handler_sql_names(const struct action *action, struct str *schema, struct str *function)
{
    const char *dot = memchr(action->name.ptr, '.', action->name.len);

    *schema = (struct str){action->name.ptr, (size_t)(dot - action->name.ptr)};
    *function = (struct str){dot + 1, action->name.len - schema->len - 1};
}

/* The names need no quotes (src/route), but some are keywords. */
static int compile(const struct provider_config *provider UNUSED, struct action *action,
                   struct arena *arena, struct err *err UNUSED)
{
    struct str schema, function;

    handler_sql_names(action, &schema, &function);
    action->call = arena_printf(arena, "select \"%.*s\".\"%.*s\"(inboxd.load_event($1, $2))",
                                STR_ARG(schema), STR_ARG(function));
    return 0;
}

static int send(struct db *db, struct db_args *args, const struct action *action,
                const struct claimed *event, struct err *err)
{
    db_args_clear(args);
    db_args_int8(args, event->id);
    db_args_int4(args, event->attempt);
    return db_send_text(db, action->call, args, err) < 0 ? -1 : 1;
}

const struct handler_kind handler_sql = {
    .name = "sql", .class = WORK_SQL, .compile = compile, .send = send};
