/* A plug-in that does nothing, for benchmarks. */
#include "inboxd/handler.h"

static int on_event(struct inboxd_event *event, void *module, void *thread)
{
    (void)event;
    (void)module;
    (void)thread;
    return INBOXD_DONE;
}

INBOXD_MODULE(.handle = on_event);
