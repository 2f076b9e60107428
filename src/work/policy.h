/* What the sections of providers say about work, as inbox/policies.h wants it. */
#ifndef WORK_POLICY_H
#define WORK_POLICY_H

#include "config/config.h"
#include "inbox/policies.h"

/* One element a provider into `list`, which has room for all of them. The texts are borrowed. */
void policy_read(const struct config *config, struct policy *list);

#endif
