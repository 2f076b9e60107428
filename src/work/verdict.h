/* From what a handler raised to how its attempt ended. Pure but for memory; any thread. */
#ifndef WORK_VERDICT_H
#define WORK_VERDICT_H

#include "config/config.h"
#include "db/sqlstate.h"
#include "inbox/settle.h"
#include "work/handler.h"

#define VERDICT_ERROR_MAX 8192 /* bytes of a stored error, besides the note that it was cut */

/* What the server said; strings borrowed, never NULL. */
struct failure {
    const char *sqlstate, *message, *detail, *context;
    enum db_fault fault;
    double took_s; /* at most: answers of a pipeline come together */
    bool took_exactly;
};

/* Whether the failure says something about the server and nothing about the event: the whole batch
 * is rolled back, and costs nothing. */
bool verdict_is_server(const struct failure *failure);

/* Whether the handler could not even be called: there is no such function, or no right to use it.
 */
bool verdict_is_missing(const struct failure *failure);

/* `random`: 64 evenly distributed bits. */
void verdict_of_failure(const struct provider_config *provider, const struct claimed *event,
                        const struct failure *failure, uint64_t random, struct verdict *verdict);

/* The same of a handler that is no statement. Takes over the result's texts. */
void verdict_of_result(const struct provider_config *provider, const struct claimed *event,
                       struct handler_result *result, double took_s, uint64_t random,
                       struct verdict *verdict);

void verdict_done(struct verdict *verdict);
/* Put back as it was: it has not run, or nothing of it counts. */
void verdict_untouched(struct verdict *verdict);

#endif
