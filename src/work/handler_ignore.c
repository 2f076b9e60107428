/* `ignore`: the event is kept and done at once; nothing runs. */
#include "work/handler.h"

static int send(struct db *db UNUSED, struct db_args *args UNUSED,
                const struct action *action UNUSED, const struct claimed *event UNUSED,
                struct err *err UNUSED)
{
    return 0;
}

const struct handler_kind handler_ignore = {.name = "ignore", .class = WORK_SQL, .send = send};
