/* What a store thread does with a batch whatever happens: commits it, and where it does not commit,
 * tries again, finds the row that is to blame, or refuses at once. Every item is answered exactly
 * once. Belongs to one thread; its connection lives as long as it does.
 *
 * - A connection that is lost: once more on a fresh session (rows that are there already answer
 *   "duplicate"); a COMMIT is never sent again.
 * - A server that cannot serve: refused at once, and this committer is down until a connection
 *   stands again.
 * - A row locked by an uncommitted twin: the batch is halved with a short lock_timeout until only
 *   the blocked rows are left; these wait aside and hold up nobody.
 * - A table that is locked: the batch waits, up to ack_timeout.
 * - No partition: it is made, then once more.
 * - A value refused: halved until only that row is left, which is stored without `payload`.
 *
 * A group commits as a whole or not at all. It goes with a batch as long as the batch commits;
 * where that does not, it is tried alone, waits aside alone, and of a value refused in it only the
 * row is looked for. */
#ifndef INBOX_COMMITTER_H
#define INBOX_COMMITTER_H

#include <stdbool.h>
#include <stdint.h>

#include "inbox/batch.h"

struct committer;

/* All called on the committer's thread. */
struct committer_options {
    const char *conninfo;
    int64_t ack_timeout_ms;
    /* Takes items whose result is set, linked by `next`. */
    void (*answer)(void *argument, struct store_item *list);
    /* As in struct writer_options, before the answers. */
    void (*stored)(void *argument, struct str provider, enum queue queue, int64_t run_at);
    void (*different)(void *argument, const struct event *event, int64_t first); /* or NULL */
    /* The connection came or went; `why` is NULL when it came. */
    void (*changed)(void *argument, bool up, const struct err *why);
    void *argument;
};

struct committer *committer_new(const struct committer_options *options);
void committer_free(struct committer *committer); /* takes NULL; nothing waits aside any more */

/* Takes the items, linked by `next`. Those that wait aside are answered by a later
 * committer_tend(). */
void committer_run(struct committer *committer, struct store_item *list);

/* Upkeep: connects again when it is time, notices a dead session, tries what waits aside. To be
 * called after every batch and when the returned number of microseconds has passed without one. */
int64_t committer_tend(struct committer *committer);

/* Nothing waits aside. */
bool committer_idle(const struct committer *committer);

#endif
