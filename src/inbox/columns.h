/* Rows of a batch as parameters of the statements that store them. One thread. */
#ifndef INBOX_COLUMNS_H
#define INBOX_COLUMNS_H

#include "db/db.h"
#include "inbox/batch.h"

/* What is used again from batch to batch; begins as zeros. */
struct columns {
    int64_t *places; /* by arrival: place among the rows that are stored, from 1 */
    size_t places_size;
    const struct event **lanes;
    size_t lanes_size;
};

void columns_release(struct columns *columns);

/* Ranks the rows of one transaction by the order in which they came: their ids follow it. To be
 * called before columns_put() for them or for a part of them. */
void columns_rank(struct columns *columns, const struct batch_row *rows, size_t n);

/* The parameters of store_batch.sql. `ids`: those of all ranked rows, ascending; NULL: the
 * statement draws them, and has to have all ranked rows. */
void columns_put(const struct columns *columns, struct db_args *args, const struct batch_row *rows,
                 size_t n, const int64_t *ids);

/* The parameters of store_lanes.sql: each lane once, sorted by bytes. False: there is none. */
bool columns_put_lanes(struct columns *columns, struct db_args *args, const struct batch_row *rows,
                       size_t n);

#endif
