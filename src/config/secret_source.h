/* Where a secret comes from: file:PATH, env:NAME, credential:NAME or text:SECRET. The mistakes name
 * the place, never the value. May read files; not for the loop's thread. */
#ifndef CONFIG_SECRET_SOURCE_H
#define CONFIG_SECRET_SOURCE_H

#include <stdbool.h>

#include "base/secret.h"
#include "base/str.h"
#include "config/mistakes.h"

#define SECRET_MAX (64 * 1024) /* bytes */

/* Reads the secret that `reference` names. Line ends (LF, CRLF) at its end are not part of it;
 * everything else is. NULL and a mistake: unknown kind, not there, not readable, empty, too
 * large. Warnings: readable for everybody, a literal in the file. */
struct secret *secret_source_read(struct str reference, const char *file, int line,
                                  struct mistakes *mistakes);

/* Whether a reference is that of a folder, "file:/FOLDER/": the secret is then the text of all its
 * files NAME.pem in the order of their names, each behind a line "# NAME.pem". */
bool secret_source_is_folder(struct str reference);

/* The reference as it may be shown: "text:..." instead of a literal. */
struct str secret_source_shown(struct str reference);

#endif
