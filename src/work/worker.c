/* The connection of a worker thread. A batch whose connection is lost with its cause unknown leaves
 * a debt: its events are marked as suspect, in a committed statement of the next connection, before
 * the thread does anything else. An event that ran alone and was interrupted by a shutdown is owed
 * its attempt. */
#include "work/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "inbox/lease.h"

/* A session that waits for its client inside of a transaction belongs to a daemon that is frozen or
 * whose host vanished: its claims go back. A living one answers at once. */
static const char session_settings[] = "SET idle_in_transaction_session_timeout = '15s'";

#define STATEMENT_TIMEOUT_MS 60000
#define PATIENCE_MS 500
#define FACTS_AGE_US (1000 * 1000)

enum debt_kind {
    DEBT_NONE,
    DEBT_MARK,   /* ids are suspect */
    DEBT_RETURN, /* the attempt of `alone` does not count */
    DEBT_LEASES, /* `leases` are given back */
};

struct debt {
    enum debt_kind kind;
    bool unless_restarted; /* the server was told to end the session: a restart of the whole server
                              clears the events of suspicion */
    int64_t ids[CLAIM_MAX];
    size_t count;
    struct claimed alone;
    struct claimed *leases; /* owned */
    bool suspect;           /* of leases */
};

struct worker {
    struct db *db;
    struct db_args *args;
    char name[64], application_name[32];
    const atomic_bool *interrupted;
    int64_t facts_us;     /* monotonic, when these were looked up; 0: never */
    int64_t server_start; /* us since 2000 */
    bool deferrable;      /* the database has deferrable constraints */
    struct debt debt;
};

static void forgive(struct debt *debt)
{
    free(debt->leases);
    *debt = (struct debt){.kind = DEBT_NONE};
}

struct worker *worker_new(const char *conninfo, int number, const atomic_bool *interrupted)
{
    struct worker *worker = mem_alloc(sizeof(*worker));
    char host[40] = "";

    (void)gethostname(host, sizeof(host) - 1);
    snprintf(worker->application_name, sizeof(worker->application_name), "inboxd worker %d",
             number);
    snprintf(worker->name, sizeof(worker->name), "%s/%d/%d", host, (int)getpid(), number);
    worker->db = db_new(&(struct db_options){.conninfo = conninfo,
                                             .application_name = worker->application_name,
                                             .settings = session_settings});
    worker->args = db_args_new();
    worker->interrupted = interrupted;
    return worker;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    forgive(&worker->debt);
    db_free(worker->db);
    db_args_free(worker->args);
    free(worker);
}

void worker_interrupt(struct worker *worker)
{
    db_interrupt(worker->db);
}

void worker_disconnect(struct worker *worker)
{
    db_disconnect(worker->db);
}

bool worker_is_in_debt(const struct worker *worker)
{
    return worker->debt.kind != DEBT_NONE;
}

/* What a batch needs to know of the server; as of a second ago is good enough, except to judge a
 * debt. */
static int look_up_facts(struct worker *worker, struct err *err)
{
    struct db_result *rows;

    if (db_run(worker->db, db_query("worker_facts"), NULL, &rows, err) < 0)
        return -1;
    worker->deferrable = db_bool(rows, 0, 0);
    worker->server_start = db_time(rows, 0, 1);
    worker->facts_us = clock_mono_us();
    db_result_free(rows);
    return 0;
}

static int pay(struct worker *worker, int64_t started_before, struct err *err)
{
    struct debt *debt = &worker->debt;
    bool restarted = worker->server_start != started_before;
    bool innocent = debt->unless_restarted && restarted;
    int rc = 0;

    if (debt->kind == DEBT_MARK && !innocent)
        rc = claim_mark_suspect(worker->db, worker->args, debt->ids, debt->count, err);
    else if (debt->kind == DEBT_RETURN && (innocent || !debt->unless_restarted))
        rc = claim_alone_return(worker->db, worker->args, &debt->alone, err);
    else if (debt->kind == DEBT_LEASES)
        rc = lease_release(worker->db, worker->args, debt->leases, debt->count, debt->suspect, err);
    if (rc == 0)
        forgive(debt);
    return rc;
}

int worker_connect(struct worker *worker, struct err *err)
{
    int64_t started = worker->server_start;
    bool in_debt = worker->debt.kind != DEBT_NONE;

    db_set_timeout(worker->db, STATEMENT_TIMEOUT_MS);
    if (db_connect(worker->db, err) < 0)
        return -1;
    if ((in_debt || worker->facts_us == 0 || clock_mono_us() - worker->facts_us > FACTS_AGE_US) &&
        look_up_facts(worker, err) < 0)
        return -1;
    return in_debt ? pay(worker, started, err) : 0;
}

void worker_begin(struct worker *worker, const struct plan_provider *provider, struct run *run)
{
    *run = (struct run){.db = worker->db,
                        .args = worker->args,
                        .provider = provider,
                        .worker = str_from(worker->name),
                        .interrupted = worker->interrupted,
                        .deferrable = worker->deferrable,
                        .patience_ms = PATIENCE_MS};
}

static bool owe_mark(struct debt *debt, const struct run *run, bool unless_restarted)
{
    *debt = (struct debt){.kind = DEBT_MARK, .unless_restarted = unless_restarted};
    for (; debt->count < run->claim.count; debt->count++)
        debt->ids[debt->count] = run->claim.events[debt->count].id;
    return true;
}

static bool owe_return(struct debt *debt, const struct run *run, bool unless_restarted)
{
    *debt = (struct debt){
        .kind = DEBT_RETURN, .unless_restarted = unless_restarted, .alone = run->claim.events[0]};
    return false;
}

bool worker_owes(struct worker *worker, const struct run *run, enum run_end end)
{
    bool alone = run->claim.count == 1 && run->claim.events[0].counted;
    /* A handler can end its own session just as an administrator can. */
    bool ended_by_order = run->sqlstate[0] != '\0';

    if (run->claim.count == 0)
        return false;
    switch (end) {
    case RUN_COMMITTED:
        break;
    case RUN_ROLLED_BACK: /* and could not be written down */
        return alone ? false : owe_mark(&worker->debt, run, false);
    case RUN_UNAVAILABLE:
    case RUN_INTERRUPTED:
        return alone && owe_return(&worker->debt, run, false);
    case RUN_LOST:
        if (!alone)
            return owe_mark(&worker->debt, run, ended_by_order);
        if (ended_by_order)
            owe_return(&worker->debt, run, true);
        break;
    }
    return false;
}

void worker_owes_leases(struct worker *worker, struct claimed *events, size_t count, bool suspect)
{
    forgive(&worker->debt);
    /* An attempt that was counted before it began, and may have ended its session, stays counted:
     * the next one begins when the lease runs out. */
    if (count == 0 || (suspect && events[0].counted))
        free(events);
    else
        worker->debt = (struct debt){
            .kind = DEBT_LEASES, .leases = events, .count = count, .suspect = suspect};
}

int worker_look(struct worker *worker, const struct look_at *at, size_t count, struct due *due,
                struct err *err)
{
    return claim_look(worker->db, worker->args, at, count, due, err);
}

int worker_check_handlers(struct worker *worker, const struct plan *plan, struct err *err)
{
    if (plan_reclass(plan, worker->db, worker->args, err) < 0)
        return -1;
    return plan_check_handlers(plan, worker->db, worker->args, err);
}
