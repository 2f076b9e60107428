/* sd_notify wrapped. Failures are ignored: nobody may be listening. */
#include "loop/notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_us());
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_status(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    va_start(args, format);
    len = vasprintf(&text, format, args);
    va_end(args);
    if (len >= 0)
        sd_notifyf(0, "STATUS=%s", text);
    free(text);
}

static void on_watchdog(void *argument)
{
    (void)argument;
    sd_notify(0, "WATCHDOG=1");
}

struct loop_timer *notify_watchdog(struct loop *loop)
{
    uint64_t interval_us = 0;

    if (sd_watchdog_enabled(0, &interval_us) <= 0 || interval_us < 2000)
        return NULL;
    return loop_timer_new(loop, (int64_t)(interval_us / 2000), on_watchdog, NULL);
}

int notify_sockets(int *first)
{
    int count = sd_listen_fds(1);

    *first = SD_LISTEN_FDS_START;
    return count > 0 ? count : 0;
}
