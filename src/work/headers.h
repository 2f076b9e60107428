/* The headers of a stored event: a JSON object of strings. */
#ifndef WORK_HEADERS_H
#define WORK_HEADERS_H

#include "base/json.h"

struct headers {
    struct json_items items;
    struct arena *arena;
};

/* `object` ptr NULL, or no object: there are none. What is read lives in `object` or `arena`. */
void headers_begin(struct headers *headers, struct str object, struct arena *arena);
bool headers_next(struct headers *headers, struct str *name, struct str *value);

#endif
