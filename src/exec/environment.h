/* The environment of a program that is run for an event, built up from nothing: what the daemon
 * finds in its own stays there, since secrets may be among it. One thread.
 *
 * A value that is longer than ENVIRONMENT_VALUE_MAX, or for which there is no room in
 * ENVIRONMENT_MAX, is left out as a whole, and its name is listed in INBOXD_LEFT_OUT: a system
 * refuses to start a program with more (Linux: 128 KiB for one text, and for all of them where the
 * stack is small). */
#ifndef EXEC_ENVIRONMENT_H
#define EXEC_ENVIRONMENT_H

#include "base/str.h"

#define ENVIRONMENT_VALUE_MAX (16 * 1024)
#define ENVIRONMENT_MAX (96 * 1024)

struct environment;

struct environment *environment_new(void);
void environment_free(struct environment *environment); /* takes NULL */

/* `value` ptr NULL: not there, so no variable. A value with a NUL is left out and listed. */
void environment_add(struct environment *environment, const char *name, struct str value);

/* INBOXD_HEADER_NAME, in capitals and with _ for whatever is no letter or digit. Of two names that
 * become the same the first one counts. A value "[redacted]" (a header that carries a secret) is
 * no variable. */
void environment_add_header(struct environment *environment, struct str name, struct str value);

/* As execve() takes it, with INBOXD_LEFT_OUT where there is something to list. Borrowed; nothing
 * may be added any more. */
const char *const *environment_list(struct environment *environment);

#endif
