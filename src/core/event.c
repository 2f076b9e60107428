/* Names of the enums that are stored. */
#include "core/event.h"

const char *work_class_name(enum work_class class)
{
    static const char *const names[] = {
        [WORK_SQL] = "sql", [WORK_LEASED] = "leased", [WORK_PULL] = "pull"};

    return names[class];
}
