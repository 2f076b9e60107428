/* `coalesce`: of the events of a key and type that wait, only the newest runs; the others are done
 * as superseded, and say by which. Under the lease of their lane, so that never two run at once. */
#ifndef WORK_COALESCE_H
#define WORK_COALESCE_H

#include "work/run.h"

/* Before the events of a run of lanes run: the verdicts of those that are superseded. The older
 * ones that nobody has claimed yet are done at once, at most a thousand of a key. */
void coalesce(struct run *run);

#endif
