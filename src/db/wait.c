/* Waiting on the socket with a deadline. The connection is non-blocking for libpq; each call here
 * blocks its thread in poll(), together with an eventfd by which db_interrupt() reaches it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/connection.h"

#define CANCEL_GRACE_MS 1000

/* ---- interrupting ---- */

void db_prepare_cancel(struct db *db)
{
    pthread_mutex_lock(&db->lock);
    if (!db->cancel)
        db->cancel = PQgetCancel(db->conn);
    pthread_mutex_unlock(&db->lock);
}

/* Its own thread, because PQcancel() waits for the server without a limit, and the network may have
 * swallowed it. Owns the PGcancel. */
static void *send_cancel(void *argument)
{
    char why[128];

    PQcancel(argument, why, sizeof(why));
    PQfreeCancel(argument);
    return NULL;
}

void db_interrupt(struct db *db)
{
    uint64_t one = 1;
    PGcancel *cancel;
    pthread_t thread;

    pthread_mutex_lock(&db->lock);
    cancel = db->cancel;
    db->cancel = NULL; /* the waiting thread makes another */
    pthread_mutex_unlock(&db->lock);
    (void)!write(db->interrupt_fd, &one, sizeof(one));
    if (!cancel)
        return;
    if (pthread_create(&thread, NULL, send_cancel, cancel) == 0)
        pthread_detach(thread);
    else
        PQfreeCancel(cancel);
}

/* ---- waiting ---- */

static int64_t deadline_in(int timeout_ms)
{
    return timeout_ms > 0 ? clock_mono_us() + (int64_t)timeout_ms * 1000 : INT64_MAX;
}

static int remaining_ms(int64_t deadline)
{
    int64_t left;

    if (deadline == INT64_MAX)
        return -1;
    left = (deadline - clock_mono_us() + 999) / 1000;
    return left > 0 ? (int)left : 0;
}

/* One poll(). 0: the socket is ready for something; -1: the time is up. An interrupt shortens the
 * deadline: the server has been asked to cancel and gets a moment to say so. */
static int wait_for_socket(struct db *db, short events, int64_t *deadline)
{
    struct pollfd fds[2] = {{.fd = PQsocket(db->conn), .events = events},
                            {.fd = db->interrupt_fd, .events = POLLIN}};
    uint64_t interrupts;
    int ready = poll(fds, 2, remaining_ms(*deadline));

    if (ready < 0 && errno == EINTR)
        return 0;
    if (ready <= 0)
        return -1;
    if ((fds[1].revents & POLLIN) && read(db->interrupt_fd, &interrupts, sizeof(interrupts)) > 0) {
        int64_t grace = deadline_in(CANCEL_GRACE_MS);

        if (grace < *deadline)
            *deadline = grace;
        db_prepare_cancel(db);
    }
    return 0;
}

int db_flush(struct db *db, struct err *err)
{
    int64_t deadline = deadline_in(db->timeout_ms);
    int left;

    while ((left = PQflush(db->conn)) > 0) {
        if (wait_for_socket(db, POLLIN | POLLOUT, &deadline) < 0)
            return db_note_lost(db, "it did not take the statement in time", err);
        if (!PQconsumeInput(db->conn))
            return db_note_lost(db, PQerrorMessage(db->conn), err);
    }
    return left < 0 ? db_note_lost(db, PQerrorMessage(db->conn), err) : 0;
}

int db_next(struct db *db, PGresult **rows, struct err *err)
{
    int64_t deadline = deadline_in(db->timeout_ms);

    while (PQisBusy(db->conn)) {
        if (PQflush(db->conn) < 0 || wait_for_socket(db, POLLIN, &deadline) < 0)
            return db_note_lost(db, "it did not answer in time", err);
        if (!PQconsumeInput(db->conn))
            break; /* PQgetResult has the last words of the server, if there are any */
    }
    *rows = PQgetResult(db->conn);
    return 0;
}
