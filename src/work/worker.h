/* What one worker thread owns: its connection, and what it owes to the database from a batch that
 * did not commit. Everything but worker_interrupt() is for that thread; nothing here locks. */
#ifndef WORK_WORKER_H
#define WORK_WORKER_H

#include "work/run.h"
#include "work/schedule.h"

struct worker;

/* `interrupted` is set before worker_interrupt() is called. Does not connect. */
struct worker *worker_new(const char *conninfo, int number, const atomic_bool *interrupted);
void worker_free(struct worker *worker);      /* takes NULL */
void worker_interrupt(struct worker *worker); /* any thread */
void worker_disconnect(struct worker *worker);

/* Connects where there is no live connection, and pays what is owed. */
int worker_connect(struct worker *worker, struct err *err) MUST_CHECK;

/* A run for the provider, to be used with the functions of run.h. */
void worker_begin(struct worker *worker, const struct plan_provider *provider, struct run *run);

/* Notes what the run leaves behind. True: events must be marked as suspect before anybody claims
 * them again; worker_connect() does it. */
bool worker_owes(struct worker *worker, const struct run *run, enum run_end end);
/* The same for events under leases (taken over, on the heap): they are given back as soon as the
 * database is there. `suspect`: they run alone then. */
void worker_owes_leases(struct worker *worker, struct claimed *events, size_t count, bool suspect);
bool worker_is_in_debt(const struct worker *worker);

/* Fills look->due. */
int worker_look(struct worker *worker, const struct look *look, struct err *err) MUST_CHECK;
/* What is done once for a plan: plan_take_over() and plan_check_handlers(). */
int worker_check_handlers(struct worker *worker, const struct plan *plan,
                          struct err *err) MUST_CHECK;

#endif
