/* CloudEvents 1.0 over HTTP ("HTTP Protocol Binding", "HTTP 1.1 Web Hooks"): how a request holds
 * its events, and the attributes that are headers. Pure, any thread. */
#ifndef PROVIDER_CLOUDEVENT_H
#define PROVIDER_CLOUDEVENT_H

#include <stdbool.h>

#include "base/mem.h"
#include "core/request.h"

/* By Content-Type, whose case and parameters do not matter. */
enum cloudevent_mode {
    CLOUDEVENT_BINARY,     /* attributes in headers ce-NAME, the body is the data */
    CLOUDEVENT_STRUCTURED, /* the body is the event as JSON */
    CLOUDEVENT_BATCH,      /* the body is an array of events */
    CLOUDEVENT_UNKNOWN,    /* events in a form that is not read here, such as Avro */
};

enum cloudevent_mode cloudevent_mode(const struct request *request);

/* In binary mode: whether the data is JSON, by its Content-Type. */
bool cloudevent_has_json(const struct request *request);

/* In binary mode: whether nothing contradicts itself, as ce-datacontenttype does. */
bool cloudevent_is_sound(const struct request *request);

/* The attribute in the header ce-NAME, decoded; ptr NULL: it is not there, comes twice, or does not
 * decode to text. Borrowed from the request or in `arena`. */
struct str cloudevent_header(const struct request *request, struct str name, struct arena *arena);

/* Without these it is no CloudEvent. */
#define CLOUDEVENT_REQUIRED 4
extern const char *const cloudevent_required[CLOUDEVENT_REQUIRED];

/* What an attribute may be called: lower-case letters and digits. */
bool cloudevent_names_attribute(struct str name);

#endif
