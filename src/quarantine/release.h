/* Releasing what an operator has marked: verified again with today's secrets, without regard to its
 * time, and stored as any event is, with the time when it came. Belongs to one thread. */
#ifndef QUARANTINE_RELEASE_H
#define QUARANTINE_RELEASE_H

#include "db/db.h"
#include "quarantine/terms.h"

struct release;

/* `db` borrowed, `terms` taken. */
struct release *release_new(struct db *db, struct terms *terms);
void release_free(struct release *release); /* takes NULL */

/* From now on by these; taken. */
void release_configure(struct release *release, struct terms *terms);

/* Takes one marked request, if there is one of the terms' providers. 1: it is settled;
 * 0: there is none; -1: it stays marked, and is to be tried again later. Harmless where several
 * daemons do it at once, and where one dies in it. */
int release_step(struct release *release, struct err *err) MUST_CHECK;

/* Ends the connection that is kept for storing. */
void release_rest(struct release *release);

#endif
