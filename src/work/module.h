/* Plug-ins, as the process has them: each is loaded once, started once, and asked by any number of
 * threads. include/inboxd/handler.h is what a plug-in sees of it. Shared objects stay loaded until
 * the process ends, since code that somebody may still be in cannot be taken away. */
#ifndef WORK_MODULE_H
#define WORK_MODULE_H

#include "base/err.h"
#include "base/str.h"

struct module;
struct inboxd_event;

/* Whether FOLDER/NAME.so can be loaded and is a plug-in for this version. ERR_INPUT says what would
 * be right. Loads it (which runs its constructors), does not start it. Thread-safe. */
int module_check(const char *folder, struct str name, struct err *err) MUST_CHECK;

/* A reference; starts it for the first one. NULL: ERR_INPUT. Thread-safe. */
struct module *module_ref(const char *folder, struct str name, struct err *err);
/* Stops it with the last one, when no thread is in it any more. */
void module_unref(struct module *module); /* takes NULL */

/* Runs the handler for one event, whose first member is a struct inboxd_event_head. Returns what it
 * returned. -1: it refused to work in this thread. */
int module_handle(struct module *module, void *event, int *result, struct err *err) MUST_CHECK;

#endif
