/* The setting `signed_body`: which bytes a signature is over.
 *
 *     sent      those that came, packed or not
 *     inflated  for senders that sign and pack afterwards: the text of a packed body, which is
 *               inflated for it before anybody has vouched for it, up to max_body
 */
#ifndef PROVIDER_SIGNED_BODY_H
#define PROVIDER_SIGNED_BODY_H

#include "base/err.h"
#include "core/refusal.h"
#include "provider/provider.h"

int signed_body_parse(struct str text, bool *inflated, struct err *err) MUST_CHECK;

/* Judges the text of a packed body. A request without a signature is refused before anything is
 * inflated. As provider_verify() otherwise. */
enum refusal signed_body_verify(struct provider *provider, const struct request *request,
                                bool *verified);

#endif
