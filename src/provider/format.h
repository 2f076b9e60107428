/* The setting `format`: what a body is, and where its JSON is.
 *
 *     json             the body
 *     form             an object made of the fields of a form
 *     form:FIELD       the content of that field
 *     raw              nowhere: any bytes
 *     cloudevents      as Content-Type says: the event or an array of events as JSON; or the data
 * of an event whose attributes are headers json | form...   a form where Content-Type says that it
 * is one, else the other; so with raw
 *
 * Immutable, any thread. */
#ifndef PROVIDER_FORMAT_H
#define PROVIDER_FORMAT_H

#include "base/err.h"
#include "base/mem.h"
#include "core/refusal.h"
#include "core/request.h"

enum format_kind { FORMAT_NONE, FORMAT_JSON, FORMAT_FORM, FORMAT_RAW, FORMAT_CLOUDEVENTS };

struct format {
    enum format_kind plain; /* FORMAT_NONE: always a form */
    bool form;
    struct str field; /* of a form; ptr NULL: all of them */
};

/* ERR_INPUT with what would be right. The field borrows `text`. */
int format_parse(struct str text, struct format *format, struct err *err) MUST_CHECK;

/* The JSON text of a body whose text (without its encoding) is `text`; not yet known to be JSON.
 * ptr NULL: a raw body has none. It is `text` itself or lives in `arena`. */
enum refusal format_read(const struct format *format, const struct request *request,
                         struct str text, struct arena *arena, struct str *json);

/* Whether that request may hold several events, where the section splits them. */
bool format_may_split(const struct format *format, const struct request *request);

/* Whether the attributes of that request's event are headers. */
bool format_has_attributes_in_headers(const struct format *format, const struct request *request);

#endif
