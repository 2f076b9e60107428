/* Headers as they are stored: a JSON object, names in lower case, repeated fields joined by ", " in
 * the order received. Headers that carry secrets are "[redacted]"; bytes that are not text are made
 * safe. */
#ifndef PROVIDER_HEADERS_H
#define PROVIDER_HEADERS_H

#include "base/buf.h"
#include "config/config.h"
#include "core/request.h"
#include "verify/verify.h"

/* Appends the object to `out`. `scheme` (may be NULL) says which headers show its secret, `redact`
 * (may be NULL) which ones are not to be kept besides. */
void headers_put_json(const struct request *request, const struct verify_scheme *scheme,
                      const struct name_list *redact, struct buf *out);

/* Whether the value of a header of that name is a secret of the sender's. */
bool headers_are_secret(struct str name);

#endif
