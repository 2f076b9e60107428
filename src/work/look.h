/* Looking: what became due, what other daemons stored, what was rolled back; for all queues of all
 * providers at once. */
#ifndef WORK_LOOK_H
#define WORK_LOOK_H

#include "work/job.h"

void look_do(struct member *member, struct job *job);

#endif
