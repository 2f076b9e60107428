#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stage.h"

#define HOUR_US (INT64_C(3600) * 1000000)

struct loop {
    struct ev_loop *ev;
    struct loop_timer *timers;
};

struct loop_timer {
    struct loop_timer *prev, *next;
    struct loop *loop;
    int64_t interval_us, due_us;
    void (*call)(void *argument);
    void *argument;
};

static int64_t mono_us = HOUR_US, wall_us = STAGE_WALL_US;

_Noreturn void stage_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* ---- clock ---- */

int64_t clock_mono_us(void)
{
    return mono_us;
}

int64_t clock_wall_us(void)
{
    return wall_us;
}

void clock_format(int64_t us, char text[static CLOCK_TEXT_SIZE])
{
    snprintf(text, CLOCK_TEXT_SIZE, "%lld", (long long)us);
}

/* ---- loop ---- */

struct loop *loop_new(void)
{
    struct loop *loop = mem_alloc(sizeof(*loop));

    loop->ev = ev_loop_new(EVFLAG_AUTO);
    CHECK(loop->ev);
    return loop;
}

struct ev_loop *loop_ev(struct loop *loop)
{
    return loop->ev;
}

struct loop_timer *loop_timer_new(struct loop *loop, int64_t interval_ms,
                                  void (*call)(void *argument), void *argument)
{
    struct loop_timer *timer = mem_alloc(sizeof(*timer));

    timer->loop = loop;
    timer->interval_us = interval_ms * 1000;
    timer->due_us = mono_us + timer->interval_us;
    timer->call = call;
    timer->argument = argument;
    timer->next = loop->timers;
    if (timer->next)
        timer->next->prev = timer;
    loop->timers = timer;
    return timer;
}

void loop_timer_free(struct loop_timer *timer)
{
    if (!timer)
        return;
    *(timer->prev ? &timer->prev->next : &timer->loop->timers) = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    free(timer);
}

size_t stage_timers(const struct loop *loop)
{
    size_t count = 0;

    for (const struct loop_timer *timer = loop->timers; timer; timer = timer->next)
        count++;
    return count;
}

void stage_begin(void)
{
    mono_us += HOUR_US;
    wall_us = STAGE_WALL_US;
}

void stage_turn(struct loop *loop)
{
    ev_run(loop->ev, EVRUN_NOWAIT);
}

static struct loop_timer *find_due(struct loop *loop)
{
    struct loop_timer *timer = loop->timers;

    while (timer && timer->due_us > mono_us)
        timer = timer->next;
    return timer;
}

/* A timer may free itself and others when it is called. */
void stage_pass(struct loop *loop, int64_t ms)
{
    struct loop_timer *timer;

    mono_us += ms * 1000;
    wall_us += ms * 1000;
    while ((timer = find_due(loop))) {
        timer->due_us = mono_us + timer->interval_us;
        timer->call(timer->argument);
    }
}
