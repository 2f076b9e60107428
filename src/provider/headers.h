/* Headers as they are stored: a JSON object, names in lower case, repeated fields joined by ", " in
 * the order received. Headers that carry secrets are "[redacted]"; bytes that are not text are made
 * safe. */
#ifndef PROVIDER_HEADERS_H
#define PROVIDER_HEADERS_H

#include "base/buf.h"
#include "core/request.h"

/* Appends the object to `out`. */
void headers_put_json(const struct request *request, struct buf *out);

#endif
