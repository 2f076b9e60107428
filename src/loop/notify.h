/* What the service manager is told (sd_notify): nothing at all where there is none. Loop thread
 * only. */
#ifndef LOOP_NOTIFY_H
#define LOOP_NOTIFY_H

#include "base/attr.h"
#include "loop/loop.h"

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *format, ...) PRINTF_LIKE(1, 2); /* one line, for systemctl status */

/* A sign of life at half of the interval that the service manager asks for, from the loop: when the
 * loop is stuck it stays away. NULL: not asked for. */
struct loop_timer *notify_watchdog(struct loop *loop);

/* Listening sockets that the service manager hands over (socket activation): their number, the
 * first descriptor is *first. Takes them once: a second call finds none. */
int notify_sockets(int *first);

#endif
