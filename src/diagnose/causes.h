/* Why a request was refused: each thing that is often wrong is set right, one at a time, and the
 * request judged again. What then fits cannot fit by chance, so that it is the cause, or hides it.
 * No text holds a signature or a secret. May take a second or so; no I/O, one thread. */
#ifndef DIAGNOSE_CAUSES_H
#define DIAGNOSE_CAUSES_H

#include <stddef.h>

#include "config/config.h"
#include "core/refusal.h"
#include "core/request.h"

/* Called for each cause that was found: a sentence without a point. */
typedef void cause_visitor(void *argument, const char *text);

/* `refusal`: missing or bad signature, or stale timestamp. Returns how many variations were tried.
 * Of each kind of cause (secret, body, place of the signature, URL, preset, ...) the first is told.
 */
size_t causes_find(const struct provider_config *config, const struct request *request,
                   enum refusal refusal, cause_visitor *visit, void *argument);

#endif
