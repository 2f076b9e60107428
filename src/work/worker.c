/* The connection of a worker thread. */
#include "work/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "work/debt.h"

/* A session that waits for its client inside of a transaction belongs to a daemon that is frozen or
 * whose host vanished: its claims go back. A living one answers at once. */
static const char session_settings[] = "SET idle_in_transaction_session_timeout = '15s'";

#define STATEMENT_TIMEOUT_MS 60000
/* What is asked of a session that was idle is quickly answered, or the session is dead and nobody
 * said so. */
#define LOOK_TIMEOUT_MS 5000
#define PATIENCE_MS 500
#define FACTS_AGE_US (1000 * 1000)

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
    debt_release(&worker->debt);
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
    return worker->debt.owed;
}

/* What a batch needs to know of the server; as of a second ago is good enough, except to judge a
 * debt. */
static int look_up_facts(struct worker *worker, struct err *err)
{
    struct db_result *rows;
    int rc;

    db_set_timeout(worker->db, LOOK_TIMEOUT_MS);
    rc = db_run(worker->db, db_query("worker_facts"), NULL, &rows, err);
    db_set_timeout(worker->db, STATEMENT_TIMEOUT_MS);
    if (rc < 0)
        return -1;
    worker->deferrable = db_bool(rows, 0, 0);
    worker->server_start = db_time(rows, 0, 1);
    worker->facts_us = clock_mono_us();
    db_result_free(rows);
    return 0;
}

int worker_connect(struct worker *worker, struct err *err)
{
    int64_t started = worker->server_start;
    bool in_debt = worker->debt.owed;

    db_set_timeout(worker->db, STATEMENT_TIMEOUT_MS);
    if (db_connect(worker->db, err) < 0)
        return -1;
    if ((in_debt || worker->facts_us == 0 || clock_mono_us() - worker->facts_us > FACTS_AGE_US) &&
        look_up_facts(worker, err) < 0)
        return -1;
    if (!in_debt)
        return 0;
    return debt_pay(&worker->debt, worker->db, worker->args, worker->server_start != started, err);
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

bool worker_owes(struct worker *worker, const struct run *run, enum run_end end)
{
    return debt_note(&worker->debt, run, end);
}

void worker_owes_leases(struct worker *worker, struct claimed *events, size_t count, bool suspect)
{
    debt_note_leases(&worker->debt, events, count, suspect);
}

int worker_look(struct worker *worker, const struct look *look, struct err *err)
{
    int rc;

    db_set_timeout(worker->db, look->kind == LOOK_SWEEP ? STATEMENT_TIMEOUT_MS : LOOK_TIMEOUT_MS);
    rc = claim_look(worker->db, worker->args, look->at, look->count, look->due, err);
    db_set_timeout(worker->db, STATEMENT_TIMEOUT_MS);
    return rc;
}

int worker_check_handlers(struct worker *worker, const struct plan *plan, struct err *err)
{
    if (plan_take_over(plan, worker->db, worker->args, err) < 0)
        return -1;
    return plan_check_handlers(plan, worker->db, worker->args, err);
}
