/* Whose turn it is, and when and where to look for what nobody told us of. Not thread-safe: the
 * pool's lock guards it. */
#ifndef WORK_SCHEDULE_H
#define WORK_SCHEDULE_H

#include "work/feed.h"
#include "work/plan.h"

/* One provider, for as long as the pool lives. */
struct source {
    struct feed feeds[QUEUE_COUNT];
    struct str name; /* owned */
    int running;     /* claims and batches under way, of all queues */
    enum queue last; /* queue that was served last */
    int plan_index;  /* in the plan; -1: not configured any more */
    int64_t failure_logged_us;
};

struct schedule {
    struct source **sources; /* sorted by name */
    size_t count;
    size_t turn; /* where the next pick begins */
    int turns;   /* that the source there has had in a row */

    int alone, alone_in_process; /* events that run alone now; those of them that may end the
                                    daemon, at most one, and then no other */

    bool looking;          /* a thread does */
    int64_t look_began_us; /* the last one */
    bool behind_last;
    int64_t next_look_us, next_behind_us, next_sweep_us;
};

/* Providers of the plan are added or found again, with what is known of them. */
void schedule_set_plan(struct schedule *schedule, const struct plan *plan);
void schedule_release(struct schedule *schedule);
struct source *schedule_find(const struct schedule *schedule, struct str name); /* NULL: none */

/* The next provider with something to claim, and which of its queues, both in turn; NULL: none. A
 * provider has as many turns in a row as its weight, if it wants them. */
struct source *schedule_pick(struct schedule *schedule, const struct plan *plan, int64_t now_us,
                             enum queue *queue);
bool schedule_has_more(const struct schedule *schedule, const struct plan *plan, int64_t now_us);

/* An event that runs alone has begun an attempt that counts. So where one of them may end the
 * daemon, it is the only one: it must not cost others theirs, again and again. */
bool schedule_alone_fits(const struct schedule *schedule, const struct plan_provider *provider);
void schedule_alone_begin(struct schedule *schedule, const struct plan_provider *provider);
void schedule_alone_end(struct schedule *schedule, const struct plan_provider *provider);

/* ---- looking ---- */

enum look_kind {
    LOOK_CURSOR, /* behind the cursors */
    LOOK_BEHIND, /* from five seconds before them: commits of other daemons */
    LOOK_SWEEP,  /* over everything */
};

struct look {
    enum look_kind kind;
    size_t count;
    struct feed **feeds;
    struct look_at *at;
    struct due *due;
};

/* True: the caller looks now, and calls schedule_look_end() in any case. One looks at a time,
 * unless it takes so long that its connection may be dead: then another one does, too. */
bool schedule_look_due(struct schedule *schedule, int64_t now_us);
int64_t schedule_next_look(const struct schedule *schedule);
void schedule_look_begin(struct schedule *schedule, struct look *look, int64_t now_us);
void schedule_look_end(struct schedule *schedule, const struct look *look, bool ok,
                       int64_t took_us);
void look_release(struct look *look);

/* From 0 to `below` - 1; 0 where that is 0. */
int64_t schedule_random(int64_t below);

#endif
