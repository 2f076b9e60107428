/* application/x-www-form-urlencoded, as senders of webhooks write it: NAME=VALUE joined by "&",
 * percent-encoded, "+" for a blank. Strict where lenient readers differ: a "%" is followed by two
 * hexadecimal digits, or it is no form. Pure, any thread. */
#ifndef BASE_FORM_H
#define BASE_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"

#define FORM_FIELDS_MAX 10000

struct form_field {
    struct str name, value; /* decoded: any bytes */
};

struct form {
    struct form_field *fields; /* in the order sent; without what is empty between two "&" */
    size_t count;
};

/* The fields live in `arena`. A field without "=" has an empty value. False: not a form, or more
 * than FORM_FIELDS_MAX fields. */
bool form_read(struct str text, struct arena *arena, struct form *form);

/* How often a field occurs; *value is the first one's. */
size_t form_find(const struct form *form, struct str name, struct str *value);

/* The form as a JSON object, in `arena`: a member a name, in the order of their first occurrence;
 * its value is a string, or an array of strings where the name occurs several times. Bytes that are
 * not UTF-8 become \udc80 to \udcff, a half of a surrogate pair each, so that what is distinct
 * stays distinct for identities; json_repair() makes U+FFFD of them. */
struct str form_json(const struct form *form, struct arena *arena);

#endif
