/* A batch, or an event that runs alone, of class leased: claimed, run and settled (work/leased.h),
 * and what came of it told to the feed, to the log and to the thread's debts. */
#ifndef WORK_LEASED_JOB_H
#define WORK_LEASED_JOB_H

#include "work/job.h"

void leased_job_do(struct member *member, struct job *job);

#endif
