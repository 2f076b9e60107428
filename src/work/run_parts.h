/* What the files of run.h share. Nobody else includes this. */
#ifndef WORK_RUN_PARTS_H
#define WORK_RUN_PARTS_H

#include "work/run.h"
#include "work/verdict.h"

#define SERVER_GRACE_MS 10000 /* beyond `timeout`, before the connection is given up */

uint64_t run_random(void);
int run_timeout_ms(const struct run *run);

/* The answer to a statement of ours that must not fail. 0, or -1: run_fail(). */
int run_expect(struct run *run, struct db_result **result);
/* What the answer that was read last says. */
void run_note_failure(struct run *run);
struct failure run_failure(const struct run *run);
/* Reads on to the end of the section, so that the connection can be used again. */
void run_drain(struct run *run);
/* Leaves the pipeline and the transaction. */
void run_abandon(struct run *run);
/* The transaction as a whole failed: by the statement whose answer was read last. -1. */
int run_fail(struct run *run, bool drained);

int run_send_handler_settings(struct run *run);
/* The event's row stays as it is: it has not run, or nothing of it counts. */
void run_leave(struct run *run, size_t i);
/* After the rows of a claim were read. */
int run_claimed(struct run *run);
/* Begins the second transaction of an event that runs alone. No events: somebody else has it. */
int run_take_alone(struct run *run);

#endif
