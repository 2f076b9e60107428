/* What the files of the committer share. All on its thread. */
#ifndef INBOX_COMMITTER_PARTS_H
#define INBOX_COMMITTER_PARTS_H

#include "base/err.h"
#include "inbox/aside.h"
#include "inbox/committer.h"
#include "inbox/store.h"

#define MS 1000

#define BACKOFF_FIRST_US (50 * MS)
#define BACKOFF_MAX_US (1000 * MS)

#define LOCK_TIMEOUT_MS 100     /* of a batch: a twin that is about to commit */
#define LOCK_TIMEOUT_SHORT_MS 5 /* while looking for the blocked row, and for rows aside */

enum verdict {
    DONE,    /* answered, or set aside */
    LOCKED,  /* somebody holds a row or a table */
    BLOCKED, /* it is no matter of single rows: wait with all of them */
    REFUSED, /* PostgreSQL does not take it, and not for want of anything */
    DOWN,    /* the database does not serve; the rows are not answered yet */
    NOT_NOW, /* not known to be committed, this time; the rows are not answered yet */
};

struct committer {
    struct committer_options options;
    struct db *db;
    struct store *store;
    struct batch batch;
    struct aside *aside;
    struct err err; /* of the last failure */

    bool up;
    int64_t backoff_us, connect_at_us, alive_at_us;
    int lock_timeout_ms;
    int strikes;
};

/* The session, and one attempt on it (committer_attempt.c). */
/* A session that died while nobody looked is replaced here, before anything is sent on it. */
bool attempt_session(struct committer *c);
/* The database does not serve: what waits aside is refused, and the next session comes later. */
void attempt_give_up_session(struct committer *c);
void attempt_lock_timeout(struct committer *c, int ms);
/* One transaction for rows[0..n), repeated where that alone may help. DONE: answered. */
enum verdict attempt_rows(struct committer *c, struct batch_row *rows, size_t n);
/* What became of rows if they were stored now. */
enum verdict attempt_probe(struct committer *c, struct batch_row *rows, size_t n);

/* What belongs together, to its end (committer_batch.c). */
/* Events that are on their own. */
void committer_alone(struct committer *c, struct store_item *list);
/* All or none. */
void committer_group(struct committer *c, struct store_group *group);
/* A row or a group that waited aside, once more. Answered only where DONE. */
enum verdict committer_aside(struct committer *c, struct batch_row *row);
/* What is left of rows after a verdict that answers none. */
void committer_give_up(struct committer *c, struct batch_row *rows, size_t n, enum verdict verdict);
/* Whether nobody waits for the answer any more. */
bool committer_abandoned(const struct store_item *item);
bool committer_row_abandoned(const struct batch_row *row);

#endif
