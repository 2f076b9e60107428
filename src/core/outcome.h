/* How one attempt at an event ended. Pure data, any thread. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

enum outcome {
    OUTCOME_DONE,
    OUTCOME_RETRY,   /* failed; tried again after a delay */
    OUTCOME_TIMEOUT, /* the same, because it took too long */
    OUTCOME_DEFER,   /* its precondition is missing: later, without burning an attempt */
    OUTCOME_AGAIN,   /* ran into a shutdown, a deadlock or a serialization failure: costs nothing */
    OUTCOME_DEAD,    /* never again by itself */
    /* Done, and its handler did not run: */
    OUTCOME_STALE,      /* its entity is past it */
    OUTCOME_SUPERSEDED, /* a newer event of its key and type runs instead */
};

/* "done", "retry", ...: as the statement settle_failed and the table attempt_log know them. */
const char *outcome_name(enum outcome outcome);

#endif
