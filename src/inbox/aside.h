/* Rows that wait aside because another transaction holds their identity: an uncommitted twin. Each
 * is tried again by itself, at growing intervals; later copies join it instead of blocking a batch.
 * A row may stand for a group, which is joined by nobody. Bounded. Pure; one thread. */
#ifndef INBOX_ASIDE_H
#define INBOX_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "inbox/batch.h"

struct aside;

struct aside *aside_new(void);
void aside_free(struct aside *aside); /* takes NULL; must be empty */
size_t aside_count(const struct aside *aside);

/* Takes over the row's items. False: too many wait already. */
bool aside_put(struct aside *aside, const struct batch_row *row, int64_t now_us);
/* After another try in vain. */
void aside_put_back(struct aside *aside, const struct batch_row *row, int64_t since_us,
                    int64_t now_us);

/* When a row of the same id waits: its items are added there. */
bool aside_join(struct aside *aside, struct batch_row *row);

/* When the next row is due; INT64_MAX when none waits. */
int64_t aside_next_us(const struct aside *aside);
/* Takes a row that is due out; *since_us is when it was first put. */
bool aside_take_due(struct aside *aside, int64_t now_us, struct batch_row *row, int64_t *since_us);
/* Takes any row out. */
bool aside_take(struct aside *aside, struct batch_row *row);

#endif
