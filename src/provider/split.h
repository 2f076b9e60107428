/* The setting `split`: which array of the document holds the events of a request.
 *
 *     body:/events            each element is an event; "body:" is the document itself
 *     body:/a | body:/b       the first that is an array
 *
 * A token "*" in it stands for each element of an outer array: the changes of each entry. All
 * alternatives have the same outer array then.
 *
 * Immutable, any thread. */
#ifndef PROVIDER_SPLIT_H
#define PROVIDER_SPLIT_H

#include "core/refusal.h"
#include "provider/scope.h"

#define SPLIT_ARRAYS_MAX 4
/* The most events of one request. */
#define SPLIT_EVENTS_MAX 20000

struct split {
    bool nested;                     /* there is an outer array */
    size_t outer;                    /* its pointer's place in the list of SCOPE_REQUEST */
    size_t arrays[SPLIT_ARRAYS_MAX]; /* places in the list of SCOPE_OUTER, or of SCOPE_REQUEST */
    size_t count;
};

/* Sets scope->splits and scope->outer, and adds its pointers. ERR_INPUT with what would be right.
 */
int split_parse(struct str text, struct split *split, struct scope *scope, struct arena *arena,
                struct err *err) MUST_CHECK;

/* Takes an element: its text is JSON. `values` is what the pointers of its level and of those above
 * found. */
typedef enum refusal split_visit(void *argument, struct str element,
                                 const struct json_value *const values[SCOPE_LEVELS]);

/* Visits the events of `json`, which is JSON, in their order; stops at a refusal. `values` of
 * SCOPE_REQUEST are there already. REFUSAL_MISSING_EVENTS: there is no such array. */
enum refusal split_each(const struct split *split, struct json_paths *const paths[SCOPE_LEVELS],
                        const struct json_value *request_values, split_visit *visit,
                        void *argument);

#endif
