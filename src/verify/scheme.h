/* What a kind of scheme is to verify.c: one row of functions. A kind owns its state and knows
 * nothing of the others; what they share of reading secrets and reporting mistakes is here. */
#ifndef VERIFY_SCHEME_H
#define VERIFY_SCHEME_H

#include "base/digest.h"
#include "base/secret.h"
#include "verify/verify.h"

/* Where a kind reports what is wrong with its spec. */
struct scheme_mistakes {
    verify_report *report;
    void *argument;
    bool any;
};

void scheme_mistake(struct scheme_mistakes *mistakes, enum verify_field field, size_t index,
                    const char *text);

/* For kinds whose secrets are compared or used as they are written: reports another
 * `secret_encoding`, and is false then. */
bool scheme_takes_raw(const struct verify_spec *spec, struct scheme_mistakes *mistakes);

/* Reports a public_url that is none, or has a query: the one that was received is added to it. */
void scheme_check_url(struct scheme_mistakes *mistakes, struct str url);

#define SCHEME_READS(field) (1U << (field))

/* Who listens to an explanation. */
struct scheme_teller {
    verify_tell *tell;
    void *argument;
};

/* A URL from its host on: what stands in front of an @ may be a password. */
struct str scheme_url_shown(struct str url);

void scheme_tell(const struct scheme_teller *teller, const char *step, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

struct scheme_kind {
    const char *const *names; /* what `verify` calls it; ends with NULL */
    unsigned reads; /* SCHEME_READS() of each text that it knows, of those that not all do */

    /* The compiled scheme, or NULL after at least one mistake. Keeps nothing of `spec`. */
    void *(*compile)(const struct verify_spec *spec, struct scheme_mistakes *mistakes);
    /* *secret is only set with VERIFY_VALID and VERIFY_STALE. */
    enum verify_result (*judge)(void *scheme, const struct request *request, size_t *secret);
    /* As verify_sign(); NULL: nothing that this kind signs with stands in a header. */
    int (*sign)(void *scheme, const struct request *request, int64_t age_s, bool bad,
                struct arena *arena, struct header *headers, size_t max, size_t *count,
                struct err *err);
    /* As verify_shows_secret(); NULL: no header does. */
    bool (*shows)(const void *scheme, struct str header);
    /* As verify_explain(); NULL: there is nothing to say beyond the verdict. */
    void (*explain)(void *scheme, const struct request *request,
                    const struct scheme_teller *teller);
    void (*free)(void *scheme);
};

/* Kinds, each in its own files. */
extern const struct scheme_kind scheme_signed;              /* the `signed =` template: signed.c */
extern const struct scheme_kind scheme_token, scheme_basic; /* token.c */
extern const struct scheme_kind scheme_jwt;                 /* jwt.c */
extern const struct scheme_kind scheme_twilio;              /* twilio.c */
extern const struct scheme_kind scheme_adyen;               /* adyen.c */
extern const struct scheme_kind scheme_sns;                 /* sns.c */

/* A word of a blank-separated text; ptr NULL at the end. */
struct str scheme_word(struct str *rest);

/* The configured secrets, decoded. */
struct secrets {
    struct secret **items;
    size_t count;
};

/* In place; what does not decode is a mistake and left out. */
void secrets_compile(struct secrets *secrets, const struct verify_spec *spec,
                     struct scheme_mistakes *mistakes);
void secrets_release(struct secrets *secrets);

/* A keyed digester for each secret; digesters_free() frees them, and takes NULL. */
struct digester **secrets_key(const struct secrets *secrets, enum digest digest);
void digesters_free(struct digester **digesters, size_t count);

#endif
