/* The event loop: libev behind a small face. One loop per daemon; everything here is for the loop's
 * own thread except loop_post() and loop_stop(), which any thread may call. Nothing that runs on
 * the loop may block: no libpq, no DNS, no waiting. */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdint.h>

struct loop;
struct ev_loop;

struct loop *loop_new(void);
void loop_free(struct loop *loop); /* runs what was posted and not yet run, so that nothing handed
                                      over leaks */
void loop_run(struct loop *loop);  /* until loop_stop() */
void loop_stop(struct loop *loop); /* any thread */

/* Has `call(argument)` run on the loop's thread, in the order of posting per thread. Any thread;
 * never blocks for long. */
void loop_post(struct loop *loop, void (*call)(void *argument), void *argument);

/* Timers. `interval_ms`: every so often, first after one interval. Freed by the owner, also from
 * within its own call. */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *loop, int64_t interval_ms,
                                  void (*call)(void *argument), void *argument);
void loop_timer_free(struct loop_timer *timer); /* takes NULL */

/* Signals arrive as ordinary calls on the loop. Where the signal was blocked, so that other threads
 * do not get it, the calling thread takes it from now on. */
struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *loop, int signal_number,
                                    void (*call)(void *argument), void *argument);
void loop_signal_free(struct loop_signal *handle); /* takes NULL */

/* For the folders that have libev's own watchers (http). */
struct ev_loop *loop_ev(struct loop *loop);

#endif
