/* The surroundings of the front end under fuzz_front.c: a clock that stands still until it is
 * moved, an event loop whose timers follow that clock, and an inbox that answers what the input
 * wants instead of a database. They stand in for src/loop/loop.c, src/base/clock.c and, as far as
 * src/ingest calls them, src/inbox and src/quarantine, because the linker finds these first. */
#ifndef FUZZ_FRONT_STAGE_H
#define FUZZ_FRONT_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "inbox/keeper.h"
#include "inbox/vault.h"
#include "inbox/writer.h"
#include "loop/loop.h"
#include "quarantine/quarantine.h"

#define STAGE_WALL_US (INT64_C(1700000000) * 1000000) /* when each input begins */

/* Ends the process with a line that says what did not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            stage_fail(__FILE__, __LINE__, #condition);                                            \
    } while (0)
_Noreturn void stage_fail(const char *file, int line, const char *condition);

/* ---- clock and loop (loop.c) ---- */

/* The wall clock is back at STAGE_WALL_US, the other one an hour further. */
void stage_begin(void);
/* Lets the loop see what is there, without waiting. */
void stage_turn(struct loop *loop);
/* Moves both clocks, then calls each timer that is due, once. */
void stage_pass(struct loop *loop, int64_t ms);
size_t stage_timers(const struct loop *loop);

/* ---- inbox (inbox.c) ---- */

enum inbox_mood { INBOX_STORES, INBOX_KNOWS, INBOX_FAILS, INBOX_VARIES };

struct inbox_plan {
    enum inbox_mood mood;
    bool full;  /* takes nothing */
    bool holds; /* answers nothing before inbox_release() */
    bool taken; /* a handshake's secret finds another one */
    /* Whether these bytes were sent by somebody; `apart`: with others in between. */
    bool (*sent)(struct str bytes, bool apart);
};

extern struct writer *const inbox_writer;
extern struct keeper *const inbox_keeper;
extern struct vault *const inbox_vault;
extern struct quarantine *const inbox_quarantine;

void inbox_begin(const struct inbox_plan *plan);
/* Gives back what was put before the last call. */
void inbox_turn(void);
void inbox_release(void);
/* What was put and not given back. */
size_t inbox_waiting(void);
/* Requests whose events were all given back as committed. */
size_t inbox_committed(void);

#endif
