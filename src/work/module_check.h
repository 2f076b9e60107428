/* The plug-ins that a configuration names, before it counts. */
#ifndef WORK_MODULE_CHECK_H
#define WORK_MODULE_CHECK_H

#include "config/config.h"
#include "config/mistakes.h"

/* A mistake, with file and line, for each module: that cannot be loaded or is of another version.
 * Loads them, starts none. */
void modules_check(const struct config *config, struct mistakes *mistakes);

#endif
