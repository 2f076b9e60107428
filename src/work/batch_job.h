/* A batch, or an event that runs alone, of class sql: claimed, run (work/run.h), and what came of
 * it told to the feed, to the log and to the thread's debts. */
#ifndef WORK_BATCH_JOB_H
#define WORK_BATCH_JOB_H

#include "work/job.h"

void batch_job_do(struct member *member, struct job *job);

/* ---- for leased jobs and lanes as well ---- */

/* From the thread's connection to the end of the job; `body` claims and runs. */
void batch_job_with(struct member *member, struct job *job,
                    void (*body)(struct member *member, struct job *job, struct run *run));

/* Without the lock: what could not commit as a whole. A single event is to blame for it. */
enum run_end batch_job_blame(struct run *run, enum run_end end);
/* What people want to know of a run that committed, and of one whose session was lost. */
void batch_job_log(struct pool *pool, struct source *source, const struct run *run);
void batch_job_log_lost(const struct run *run);

#endif
