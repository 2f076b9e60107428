/* What a thread owes to the database from a batch that did not commit: that events run alone from
 * now on, that an attempt is given back, that lanes and leases are free again. Paid in committed
 * statements of the next connection, before the thread does anything else. One thread. */
#ifndef WORK_DEBT_H
#define WORK_DEBT_H

#include "inbox/lane.h"
#include "work/run.h"

struct debt {
    bool owed;
    bool unless_restarted; /* the server was told to end the session: a restart of the whole server
                              clears the events of suspicion */
    int64_t suspects[CLAIM_MAX];
    size_t suspect_count;
    bool gives_back; /* the attempt of `alone` does not count */
    struct claimed alone;
    struct lane_return lanes; /* count 0: none */
    struct claimed *leases;   /* to be given back; owned; NULL: none */
    size_t lease_count;
    bool leases_suspect;
};

/* Notes what the run leaves behind. True: events must be marked as suspect before anybody claims
 * them again. (Events of lanes are safe until their lease ends.) */
bool debt_note(struct debt *debt, const struct run *run, enum run_end end);

/* Leases of class leased that are given back; `suspect`: their events run alone from now on. Takes
 * `events`. */
void debt_note_leases(struct debt *debt, struct claimed *events, size_t count, bool suspect);

/* `restarted`: the server has been, since. */
int debt_pay(struct debt *debt, struct db *db, struct db_args *args, bool restarted,
             struct err *err) MUST_CHECK;
void debt_release(struct debt *debt); /* may be zeroed */

#endif
