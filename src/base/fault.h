/* Fault points: named places where a test makes the process die, fail or wait. Compiled out of
 * release builds.
 *
 * INBOXD_FAULTS="store.before_commit=kill,work.after_claim=error:3,writer.batch=wait:500"
 * (environment), where kill[:N]   SIGKILL to the process at the N-th passage (default the first)
 *   error[:N]  fault() returns true for the first N passages (default every one)
 *   wait:MS    sleeps MS milliseconds at every passage
 * Thread-safe. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

#ifdef INBOXD_FAULTS
/* True when the caller has to behave as if the step had failed. */
bool fault(const char *name);
#else
#define fault(name) false
#endif

#endif
