/* Inside diagnose/ only: the kinds of causes, each in its own file where it is long. A kind says at
 * most one cause. */
#ifndef DIAGNOSE_KINDS_H
#define DIAGNOSE_KINDS_H

#include "base/attr.h"
#include "diagnose/causes.h"
#include "diagnose/trial.h"

struct search {
    struct trial trial;
    cause_visitor *visit;
    void *argument;
    bool found; /* of any kind */
};

/* Tells a cause; always true. */
bool search_tell(struct search *search, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Each tries its variations; true: one fitted and was told. */
bool find_repeated_header(struct search *search);
bool find_body(struct search *search);
bool find_secret(struct search *search);
bool find_time_unit(struct search *search);
bool find_place(struct search *search);  /* places.c: of the signature, and its algorithm */
bool find_url(struct search *search);    /* urls.c */
bool find_preset(struct search *search); /* known.c */
bool find_body_and_secret(struct search *search);

#endif
