/* What the files of leased.h share. Nobody else includes this. */
#ifndef WORK_LEASED_PARTS_H
#define WORK_LEASED_PARTS_H

#include "work/handler.h"
#include "work/leased.h"
#include "work/run_parts.h"

enum leased_state {
    LEASED_WAITS,   /* has not run, or has and is not settled yet */
    LEASED_SETTLED, /* its outcome is committed */
    LEASED_LOST,    /* somebody else has it: nothing of it may be written */
};

struct leased {
    struct run *run;
    struct leases *leases; /* NULL: the event has a lane, whose lease is the fence */
    struct lease_hold hold;
    enum leased_state state[CLAIM_MAX];
    size_t ran;
    enum run_end end; /* of what could not be settled */
    bool suspect;     /* a statement of an event may have ended the session */
    bool unsure;      /* a commit's answer was lost: what is not ours any more may be done */
};

/* The lease is kept for one more run of a handler. */
void leased_keep(struct leased *leased);

/* The event that a row of lease_load() holds, run; or dead where its content is gone. */
void leased_run_loaded(struct leased *leased, size_t i, const struct db_result *rows, int row);
bool leased_wants_payload(const struct run *run);
#define LEASED_LOAD_BYTES (8LL * 1024 * 1024)

/* Runs the leased actions of an event; sets its verdict, or its state. */
void leased_run_event(struct leased *leased, size_t i, const struct handler_event *event);

/* Settles those of `count` events from `first` on that wait. `entered`: the transaction is open and
 * holds the only one's row and SAVEPOINT e, under which its handler has written. */
enum run_end leased_settle(struct leased *leased, size_t first, size_t count, bool entered);
/* The same for as long as it takes: again after a loss of the connection, one by one when they do
 * not commit together. What is left waits. */
void leased_settle_all(struct leased *leased);

/* Says that an event is somebody else's now. */
void leased_lose(struct leased *leased, size_t i);

#endif
