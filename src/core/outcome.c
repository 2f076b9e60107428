/* Names of outcomes, shared with SQL. */
#include "core/outcome.h"

const char *outcome_name(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_DONE:
        return "done";
    case OUTCOME_RETRY:
        return "retry";
    case OUTCOME_TIMEOUT:
        return "timeout";
    case OUTCOME_DEFER:
        return "defer";
    case OUTCOME_AGAIN:
        return "again";
    case OUTCOME_STALE:
        return "stale";
    case OUTCOME_SUPERSEDED:
        return "superseded";
    case OUTCOME_DEAD:
        break;
    }
    return "dead";
}
