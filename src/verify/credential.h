/* Where a credential stands that is taken whole: the token of `token`, the JWT of `jwt`.
 *
 *     PLACE [prefix TEXT] [| PLACE [prefix TEXT]]...      PLACE: header:NAME or query:NAME
 *
 * A prefix is a scheme word such as "Bearer": compared without case (RFC 9110 section 11.1), and
 * blanks behind it are not part of the credential. */
#ifndef VERIFY_CREDENTIAL_H
#define VERIFY_CREDENTIAL_H

#include "core/request.h"
#include "verify/scheme.h"

#define CREDENTIAL_PLACES_MAX 4

struct credential_place {
    bool query; /* else a header */
    struct str name;
    struct str prefix; /* ptr NULL: none */
};

struct credential_rule {
    struct credential_place places[CREDENTIAL_PLACES_MAX];
    size_t count;
};

/* The texts are copied into `arena`. */
int credential_parse(struct credential_rule *rule, struct str text, struct arena *arena,
                     struct err *err) MUST_CHECK;

/* VERIFY_VALID: *credential is what stands there; it borrows the request or lives in `arena`. A
 * place that has to be single and is not, lacks the prefix, or holds nothing, is VERIFY_BAD. */
enum verify_result credential_read(const struct credential_place *place,
                                   const struct request *request, struct arena *arena,
                                   struct str *credential);

/* Whether one of the places is a header of that name. */
bool credential_in(const struct credential_rule *rule, struct str header);

/* Tells what stands at each place, but not the credential. */
void credential_explain(const struct credential_rule *rule, const struct request *request,
                        const struct scheme_teller *teller);

/* The header that carries a credential, for senders; ERR_NEVER where none of the places is one. */
int credential_write(const struct credential_rule *rule, struct str credential, struct arena *arena,
                     struct header *header, struct err *err) MUST_CHECK;

#endif
