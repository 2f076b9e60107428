/* libev wrapped. Posted calls wait in a list under a mutex; ev_async_send (the one libev call that
 * other threads may make) wakes the loop, which takes the whole list at once. */
#include "loop/loop.h"

#include <ev.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"

struct posted {
    struct posted *next;
    void (*call)(void *argument);
    void *argument;
};

struct loop {
    struct ev_loop *ev;
    ev_async wake;
    pthread_mutex_t lock;
    struct posted *first, **last; /* under lock */
    int stopping;                 /* under lock */
};

struct loop_timer {
    ev_timer watcher;
    struct loop *loop;
    void (*call)(void *argument);
    void *argument;
};

struct loop_signal {
    ev_signal watcher;
    struct loop *loop;
    void (*call)(void *argument);
    void *argument;
};

/* Runs all that was posted until now; tells whether the loop is to stop. */
static int run_posted(struct loop *loop)
{
    struct posted *list, *next;
    int stopping;

    pthread_mutex_lock(&loop->lock);
    list = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    stopping = loop->stopping;
    pthread_mutex_unlock(&loop->lock);
    for (; list; list = next) {
        next = list->next;
        list->call(list->argument);
        free(list);
    }
    return stopping;
}

static void on_wake(struct ev_loop *ev, ev_async *watcher, int events)
{
    struct loop *loop = watcher->data;

    (void)events;
    if (run_posted(loop))
        ev_break(ev, EVBREAK_ALL);
}

struct loop *loop_new(void)
{
    struct loop *loop = mem_alloc(sizeof(*loop));

    loop->ev = ev_loop_new(EVFLAG_AUTO);
    if (!loop->ev)
        abort();
    loop->last = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    ev_async_init(&loop->wake, on_wake);
    loop->wake.data = loop;
    ev_async_start(loop->ev, &loop->wake);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    run_posted(loop);
    ev_async_stop(loop->ev, &loop->wake);
    ev_loop_destroy(loop->ev);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

void loop_run(struct loop *loop)
{
    ev_run(loop->ev, 0);
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stopping = 1;
    pthread_mutex_unlock(&loop->lock);
    ev_async_send(loop->ev, &loop->wake);
}

void loop_post(struct loop *loop, void (*call)(void *argument), void *argument)
{
    struct posted *posted = mem_alloc(sizeof(*posted));

    posted->call = call;
    posted->argument = argument;
    pthread_mutex_lock(&loop->lock);
    *loop->last = posted;
    loop->last = &posted->next;
    pthread_mutex_unlock(&loop->lock);
    ev_async_send(loop->ev, &loop->wake);
}

static void on_timer(struct ev_loop *ev, ev_timer *watcher, int events)
{
    struct loop_timer *timer = watcher->data;

    (void)ev;
    (void)events;
    timer->call(timer->argument);
}

struct loop_timer *loop_timer_new(struct loop *loop, int64_t interval_ms,
                                  void (*call)(void *argument), void *argument)
{
    struct loop_timer *timer = mem_alloc(sizeof(*timer));
    double seconds = (double)interval_ms / 1000.0;

    timer->loop = loop;
    timer->call = call;
    timer->argument = argument;
    ev_timer_init(&timer->watcher, on_timer, seconds, seconds);
    timer->watcher.data = timer;
    ev_timer_start(loop->ev, &timer->watcher);
    return timer;
}

void loop_timer_free(struct loop_timer *timer)
{
    if (!timer)
        return;
    ev_timer_stop(timer->loop->ev, &timer->watcher);
    free(timer);
}

static void on_signal(struct ev_loop *ev, ev_signal *watcher, int events)
{
    struct loop_signal *handle = watcher->data;

    (void)ev;
    (void)events;
    handle->call(handle->argument);
}

struct loop_signal *loop_signal_new(struct loop *loop, int signal_number,
                                    void (*call)(void *argument), void *argument)
{
    struct loop_signal *handle = mem_alloc(sizeof(*handle));
    sigset_t set;

    handle->loop = loop;
    handle->call = call;
    handle->argument = argument;
    ev_signal_init(&handle->watcher, on_signal, signal_number);
    handle->watcher.data = handle;
    ev_signal_start(loop->ev, &handle->watcher);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return handle;
}

void loop_signal_free(struct loop_signal *handle)
{
    if (!handle)
        return;
    ev_signal_stop(handle->loop->ev, &handle->watcher);
    free(handle);
}

struct ev_loop *loop_ev(struct loop *loop)
{
    return loop->ev;
}
