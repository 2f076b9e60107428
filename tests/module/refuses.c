/* A plug-in that does not start. */
#include <stdio.h>

#include "inboxd/handler.h"

static int start(void **module, char *error, size_t error_size)
{
    (void)module;
    snprintf(error, error_size, "its licence is over");
    return 1;
}

static int on_event(struct inboxd_event *event, void *module, void *thread)
{
    (void)event;
    (void)module;
    (void)thread;
    return INBOXD_DONE;
}

INBOXD_MODULE(.init = start, .handle = on_event);
