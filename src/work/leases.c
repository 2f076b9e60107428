/* Holds are a list under a lock. A turn copies the rows whose half time has come, so that nobody
 * waits for the database here, and renews them in one statement: what was dropped meanwhile is
 * fenced by its token. A turn that fails is repeated soon. */
#include "work/leases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#define STATEMENT_TIMEOUT_MS 5000
#define AGAIN_US (200 * 1000)
#define LOG_INTERVAL_US (10 * 1000 * 1000)

static const char session_settings[] = "SET idle_in_transaction_session_timeout = '15s'";

struct leases {
    struct db *db;
    struct db_args *args;
    int64_t logged_us;
    atomic_int *hung;

    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct lease_hold *holds;
    bool stopping;
};

struct lane_copy {
    struct lane_return lanes;
    int64_t lease_ms;
};

struct turn {
    struct lease *rows;
    size_t count;
    struct lane_copy *lanes;
    size_t lane_count;
};

/* Under the lock. When the next hold is due, or its time over; INT64_MAX: none is. */
static int64_t next_turn(const struct leases *leases, int64_t now)
{
    int64_t next = INT64_MAX;

    for (const struct lease_hold *hold = leases->holds; hold; hold = hold->next) {
        int64_t due = hold->renew_us < hold->until_us && now < hold->until_us ? hold->renew_us
                                                                              : hold->until_us;

        if (!hold->late && due < next)
            next = due;
    }
    return next;
}

static int64_t first_id(const struct lease_hold *hold)
{
    if (hold->count > 0)
        return hold->rows[0].id;
    return hold->lanes && hold->lanes->claim.count > 0 ? hold->lanes->claim.events[0].id : 0;
}

/* Under the lock. A handler that does not return keeps its thread: nothing can be done about it but
 * say so. */
static void note_late(struct leases *leases, int64_t now)
{
    for (struct lease_hold *hold = leases->holds; hold; hold = hold->next) {
        if (hold->late || now < hold->until_us)
            continue;
        hold->late = true;
        atomic_fetch_add(leases->hung, 1);
        log_event(
            LOG_ERROR,
            "a handler does not return: its worker waits for it, its event is given to others",
            F_STR("provider", hold->provider), F_NUM("id", first_id(hold)));
    }
}

/* Under the lock. */
static void note_back(struct leases *leases, struct lease_hold *hold)
{
    if (!hold->late)
        return;
    hold->late = false;
    atomic_fetch_sub(leases->hung, 1);
    log_event(LOG_INFO, "a handler that did not return has returned",
              F_STR("provider", hold->provider));
}

/* Under the lock. What is due now or will be in a quarter of its lease. */
static void take_turn(struct leases *leases, struct turn *turn, int64_t now)
{
    size_t size = 1, holds = 1;

    for (const struct lease_hold *hold = leases->holds; hold; hold = hold->next, holds++)
        size += hold->count;
    *turn = (struct turn){.rows = mem_alloc(size * sizeof(*turn->rows)),
                          .lanes = mem_alloc(holds * sizeof(*turn->lanes))};
    for (struct lease_hold *hold = leases->holds; hold; hold = hold->next) {
        int64_t lease_us = hold->lease_ms * 1000;

        if (now >= hold->until_us || hold->renew_us > now + lease_us / 4)
            continue;
        memcpy(turn->rows + turn->count, hold->rows, hold->count * sizeof(*turn->rows));
        turn->count += hold->count;
        if (hold->lanes)
            turn->lanes[turn->lane_count++] =
                (struct lane_copy){lane_return_copy(hold->provider, hold->lanes), hold->lease_ms};
        hold->renew_us = now + lease_us / 2;
    }
}

static int renew(struct leases *leases, const struct turn *turn, struct err *err)
{
    size_t renewed = 0;

    db_set_timeout(leases->db, STATEMENT_TIMEOUT_MS);
    if (db_connect(leases->db, err) < 0)
        return -1;
    if (fault("work.renew"))
        return err_set(err, ERR_AGAIN, "fault work.renew");
    for (size_t i = 0; i < turn->lane_count; i++)
        if (lane_return_renew(leases->db, leases->args, &turn->lanes[i].lanes,
                              (double)turn->lanes[i].lease_ms / 1000, err) < 0)
            return -1;
    if (turn->count == 0)
        return 0;
    return lease_renew(leases->db, leases->args, turn->rows, turn->count, &renewed, err);
}

static void turn_release(struct turn *turn)
{
    for (size_t i = 0; i < turn->lane_count; i++)
        lane_return_release(&turn->lanes[i].lanes);
    free(turn->lanes);
    free(turn->rows);
}

/* Under the lock: those of the turn that are still held are due again soon. */
static void again(struct leases *leases, int64_t now)
{
    for (struct lease_hold *hold = leases->holds; hold; hold = hold->next)
        if (hold->renew_us > now + AGAIN_US)
            hold->renew_us = now + AGAIN_US;
}

static void do_turn(struct leases *leases, int64_t now)
{
    struct turn turn;
    struct err err;
    int rc;

    note_late(leases, now);
    take_turn(leases, &turn, now);
    pthread_mutex_unlock(&leases->lock);
    rc = turn.count + turn.lane_count > 0 ? renew(leases, &turn, &err) : 0;
    turn_release(&turn);
    if (rc < 0 && log_may_repeat(&leases->logged_us, LOG_INTERVAL_US))
        log_event(LOG_WARN, "cannot renew leases, trying again", F_TEXT("why", err.text));
    pthread_mutex_lock(&leases->lock);
    if (rc < 0)
        again(leases, clock_mono_us());
}

static void *thread_main(void *argument)
{
    struct leases *leases = argument;

    pthread_mutex_lock(&leases->lock);
    while (!leases->stopping) {
        int64_t now = clock_mono_us();
        int64_t next = next_turn(leases, now);

        if (next <= now) {
            do_turn(leases, now);
        } else if (next == INT64_MAX) {
            pthread_cond_wait(&leases->wake, &leases->lock);
        } else {
            struct timespec until = {.tv_sec = next / 1000000, .tv_nsec = next % 1000000 * 1000};

            pthread_cond_timedwait(&leases->wake, &leases->lock, &until);
        }
    }
    pthread_mutex_unlock(&leases->lock);
    db_disconnect(leases->db);
    return NULL;
}

struct leases *leases_new(const char *conninfo, atomic_int *hung)
{
    struct leases *leases = mem_alloc(sizeof(*leases));
    pthread_condattr_t monotonic;

    leases->db = db_new(&(struct db_options){
        .conninfo = conninfo, .application_name = "inboxd leases", .settings = session_settings});
    leases->args = db_args_new();
    leases->hung = hung;
    pthread_mutex_init(&leases->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&leases->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&leases->thread, NULL, thread_main, leases) != 0)
        abort();
    return leases;
}

void leases_free(struct leases *leases)
{
    if (!leases)
        return;
    pthread_mutex_lock(&leases->lock);
    leases->stopping = true;
    pthread_cond_signal(&leases->wake);
    pthread_mutex_unlock(&leases->lock);
    db_interrupt(leases->db);
    pthread_join(leases->thread, NULL);
    pthread_mutex_destroy(&leases->lock);
    pthread_cond_destroy(&leases->wake);
    db_args_free(leases->args);
    db_free(leases->db);
    free(leases);
}

static void hold_begin(struct leases *leases, struct lease_hold *hold, int64_t lease_ms,
                       int64_t until_us)
{
    int64_t renew_us = clock_mono_us() + lease_ms * 1000 / 2;

    hold->lease_ms = lease_ms;
    hold->renew_us = renew_us;
    hold->until_us = until_us;
    hold->late = false;
    pthread_mutex_lock(&leases->lock);
    if (renew_us < next_turn(leases, clock_mono_us()))
        pthread_cond_signal(&leases->wake);
    hold->next = leases->holds;
    leases->holds = hold;
    pthread_mutex_unlock(&leases->lock);
}

void leases_hold(struct leases *leases, struct lease_hold *hold, struct str provider,
                 const struct claimed *events, size_t count, int64_t lease_ms, int64_t until_us)
{
    for (size_t i = 0; i < count; i++)
        hold->rows[i] = (struct lease){events[i].id, events[i].token, lease_ms};
    hold->count = count;
    hold->provider = provider;
    hold->lanes = NULL;
    hold_begin(leases, hold, lease_ms, until_us);
}

void leases_hold_lanes(struct leases *leases, struct lease_hold *hold, struct str provider,
                       const struct lanes *lanes, int64_t lease_ms, int64_t until_us)
{
    hold->count = 0;
    hold->provider = provider;
    hold->lanes = lanes;
    hold_begin(leases, hold, lease_ms, until_us);
}

void leases_keep(struct leases *leases, struct lease_hold *hold, int64_t until_us)
{
    pthread_mutex_lock(&leases->lock);
    if (clock_mono_us() >= hold->until_us) /* nobody waits for it any more */
        pthread_cond_signal(&leases->wake);
    hold->until_us = until_us;
    note_back(leases, hold);
    pthread_mutex_unlock(&leases->lock);
}

void leases_drop(struct leases *leases, struct lease_hold *hold)
{
    struct lease_hold **link = &leases->holds;

    pthread_mutex_lock(&leases->lock);
    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
    note_back(leases, hold);
    pthread_mutex_unlock(&leases->lock);
}
