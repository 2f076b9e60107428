/* A claim of lanes: claimed, run (work/lane_run.h), and what came of each of its transactions told
 * to the feed, to the log and to the thread's debts. */
#ifndef WORK_LANE_JOB_H
#define WORK_LANE_JOB_H

#include "work/job.h"

void lane_job_do(struct member *member, struct job *job);

#endif
