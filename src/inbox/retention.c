/* The functions of the schema do it, page by page; here is only which, and where the next begins.
 */
#include "inbox/retention.h"

#include <stdbool.h>

#include "base/str.h"

#define STEP_ROWS 1000 /* looked at in one step */

/* Those that go by pages answer where to go on, the others how many rows went. */
static const struct {
    const char *sql;
    bool pages;
} purges[PURGES] = {
    [PURGE_DONE] = {"select p.next_id, inboxd.note_purge('done', h.h, p.deleted) is null"
                    "  from make_interval(secs => $1) as h (h),"
                    "       inboxd.purge_finished(h.h, $2, $3) p",
                    true},
    [PURGE_IDS] = {"select p.next_id, inboxd.note_purge('ids', h.h, p.deleted) is null"
                   "  from make_interval(secs => $1) as h (h),"
                   "       inboxd.purge_ledger(h.h, $2, $3) p",
                   true},
    [PURGE_ATTEMPTS] = {"select p.next_id, inboxd.note_purge('attempts', h.h, p.deleted) is null"
                        "  from make_interval(secs => $1) as h (h),"
                        "       inboxd.purge_attempts(h.h, $2, $3) p",
                        true},
    [PURGE_DEAD] = {"select p.n, inboxd.note_purge('dead', h.h, p.n) is null"
                    "  from make_interval(secs => $1) as h (h), inboxd.purge_dead(h.h, $2) p (n)",
                    false},
    [PURGE_QUARANTINE] = {"select p.n, inboxd.note_purge('quarantine', h.h, p.n) is null"
                          "  from make_interval(secs => $1) as h (h),"
                          "       inboxd.purge_quarantine(h.h, $2) p (n)",
                          false},
    [PURGE_AUDIT] = {"select p.n, inboxd.note_purge('audit', h.h, p.n) is null"
                     "  from make_interval(secs => $1) as h (h), inboxd.purge_audit(h.h, $2) p (n)",
                     false},
};

static const char *const names[PURGES] = {
    [PURGE_DONE] = "done",
    [PURGE_DEAD] = "dead",
    [PURGE_ATTEMPTS] = "attempts",
    [PURGE_IDS] = "ids",
    [PURGE_QUARANTINE] = "quarantine",
    [PURGE_AUDIT] = "audit",
};

/* Kept for ever: nothing is removed, and people can see that. */
static int note_for_ever(enum purge purge, struct db *db, struct db_args *args, struct err *err)
{
    db_args_clear(args);
    db_args_text(args, str_from(names[purge]));
    return db_run_text(db, "select inboxd.note_purge($1, null, 0)", args, NULL, err);
}

int retention_step(struct retention *retention, enum purge purge, const struct retain *retain,
                   struct db *db, struct db_args *args, struct err *err)
{
    int64_t *after = &retention->after[purge];
    struct db_result *result = NULL;
    int more;

    if (retain->ms[purge] == 0)
        return note_for_ever(purge, db, args, err);
    db_args_clear(args);
    db_args_float8(args, (double)retain->ms[purge] / 1000);
    db_args_int4(args, STEP_ROWS);
    if (purges[purge].pages)
        db_args_int8(args, *after);
    if (db_run_text(db, purges[purge].sql, args, &result, err) < 0)
        return -1;
    if (purges[purge].pages) {
        *after = db_is_null(result, 0, 0) ? 0 : db_int(result, 0, 0);
        more = *after != 0;
    } else {
        more = db_int(result, 0, 0) == STEP_ROWS;
    }
    db_result_free(result);
    return more;
}
