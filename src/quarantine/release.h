/* Releasing what an operator has marked: verified again with today's secrets, without regard to its
 * time, and stored as any event is, with the time when it came. Belongs to one thread. */
#ifndef QUARANTINE_RELEASE_H
#define QUARANTINE_RELEASE_H

#include "config/config.h"
#include "db/db.h"

struct release;

struct release *release_new(struct db *db, const struct config *config); /* both borrowed */
void release_free(struct release *release);                              /* takes NULL */

/* From now on by this configuration; borrowed until the next. */
void release_configure(struct release *release, const struct config *config);

/* Takes one marked request, if there is one of the configuration's providers. 1: it is settled;
 * 0: there is none; -1: it stays marked, and is to be tried again later. Harmless where several
 * daemons do it at once, and where one dies in it. */
int release_step(struct release *release, struct err *err) MUST_CHECK;

/* Ends the connection that is kept for storing. */
void release_rest(struct release *release);

#endif
