/* What rows' owners are told, and what follows from it. Each row is answered once: its item is NULL
 * afterwards. Called on the committer's thread. */
#ifndef INBOX_ANSWERS_H
#define INBOX_ANSWERS_H

#include "inbox/committer.h"
#include "inbox/store.h"

/* An item that is answered with others: puts it into the list. */
void answers_push(struct store_item **list, struct store_item *item, enum store_result result);

/* Rows that are not stored; those that were answered are passed over. */
void answers_refuse(const struct committer_options *options, struct batch_row *rows, size_t n);

/* Rows that are committed: wakes workers, answers, then looks at the duplicates. `after_loss`: a
 * connection was lost before, and its session may have committed them. */
void answers_committed(const struct committer_options *options, struct store *store,
                       struct batch_row *rows, size_t n, bool after_loss);

#endif
