/* Names of the enums that are stored or sent, and where work waits. */
#include "core/event.h"

const char *work_class_name(enum work_class class)
{
    static const char *const names[] = {
        [WORK_SQL] = "sql", [WORK_LEASED] = "leased", [WORK_PULL] = "pull"};

    return names[class];
}

enum work_class work_class_of(struct str name)
{
    for (int class = WORK_SQL; class < WORK_PULL; class ++)
        if (str_equal(name, str_from(work_class_name((enum work_class) class))))
            return (enum work_class) class;
    return WORK_PULL;
}

const char *queue_name(enum queue queue)
{
    static const char *const names[QUEUE_COUNT] = {
        [QUEUE_SQL] = "sql", [QUEUE_LEASED] = "leased", [QUEUE_LANE] = "lane"};

    return names[queue];
}

enum queue event_queue(const struct event *event)
{
    if (event->class == WORK_PULL)
        return QUEUE_COUNT;
    if (event_has_lane(event))
        return QUEUE_LANE;
    return event->class == WORK_LEASED ? QUEUE_LEASED : QUEUE_SQL;
}
