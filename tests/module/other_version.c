/* A plug-in of another version of the interface. */
#include "inboxd/handler.h"

static int on_event(struct inboxd_event *event, void *module, void *thread)
{
    (void)event;
    (void)module;
    (void)thread;
    return INBOXD_DONE;
}

const struct inboxd_module inboxd_module = {
    .abi = INBOXD_HANDLER_ABI + 1, .size = sizeof(struct inboxd_module), .handle = on_event};
