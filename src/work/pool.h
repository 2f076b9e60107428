/* The worker pool: threads that claim due events and run their handlers, each thread with its own
 * connection. Providers are served in turn. Handlers in SQL run exactly once: claim, handlers,
 * outcomes and commit are one transaction (work/run.h). */
#ifndef WORK_POOL_H
#define WORK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "config/config.h"
#include "core/event.h"

struct pool;

/* Starts config->workers threads; keeps a reference to the configuration. `hung`, borrowed: how
 * many of them run a handler that has had its time and does not return. */
struct pool *pool_new(const struct config *config, atomic_int *hung);

/* Any thread: events of `provider` were committed that may run from `run_at` (us since 2000) on; a
 * thread that sleeps is woken. */
void pool_notify(struct pool *pool, struct str provider, enum queue queue, int64_t run_at);

/* Swaps the configuration; batches that run finish under the old one. The number of threads
 * follows. */
void pool_reload(struct pool *pool, const struct config *config);

/* No new claims; batches that run finish. After `timeout_ms` what still runs is interrupted (rolled
 * back, no attempt counted). Returns when all threads have ended. Blocks: not for the loop's
 * thread. */
void pool_stop(struct pool *pool, int64_t timeout_ms);
void pool_free(struct pool *pool); /* after pool_stop; takes NULL */

#endif
