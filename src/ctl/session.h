/* What most commands begin with: read the configuration, connect to its database. */
#ifndef CTL_SESSION_H
#define CTL_SESSION_H

#include "config/config.h"
#include "ctl/command.h"
#include "db/db.h"

/* To standard error, one a line: "FILE:LINE: what", with "warning: " before what is only that. */
void session_print_mistakes(const struct mistakes *mistakes, bool warnings);

/* NULL after the mistakes were printed to standard error. To be given back with config_unref(). */
struct config *session_config(const struct context *context);
/* The same for whoever may not be allowed to read the secrets: every secret_count is 0. */
struct config *session_config_without_secrets(const struct context *context);

/* A connection whose schema this program knows (`any_schema`: whatever it is); NULL after the
 * reason was printed, with the exit code in *code. To be freed with db_free(). */
struct db *session_connect(const struct context *context, bool any_schema, int *code);

/* Prints a failed statement's message; EXIT_UNREACHABLE or EXIT_FAILED. */
int session_failed(const char *command, const struct db *db, const struct err *err);

#endif
