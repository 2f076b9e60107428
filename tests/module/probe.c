/* A plug-in that does what its event says: {"do": "..."}. */
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inboxd/handler.h"

/* ---- what makes its process end ---- */

static int deeper(volatile char *above)
{
    volatile char here[4096];

    here[0] = above ? above[0] : 1;
    if (here[0] == 2) /* never */
        return 0;
    return deeper(here) + here[0];
}

static void die(const char *how)
{
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "overflow") == 0)
        (void)!deeper(NULL);
    if (strcmp(how, "exit") == 0)
        _exit(0);
    if (strcmp(how, "kill") == 0) /* as the kernel does when memory has run out */
        raise(SIGKILL);
}

/* ---- what it does on the connection ---- */

static int sql(PGconn *conn, const char *text)
{
    PGresult *rows = PQexec(conn, text);
    int ok = PQresultStatus(rows) == PGRES_COMMAND_OK || PQresultStatus(rows) == PGRES_TUPLES_OK;

    PQclear(rows);
    return ok;
}

static int effect(struct inboxd_event *event, PGconn *conn)
{
    struct inboxd_text provider = inboxd_provider(event), id = inboxd_event_id(event);
    const char *const values[] = {provider.ptr, id.ptr};
    PGresult *rows = PQexecParams(conn, "insert into t.effect (provider, event_id) values ($1, $2)",
                                  2, NULL, values, NULL, NULL, 0);
    int ok = PQresultStatus(rows) == PGRES_COMMAND_OK;

    PQclear(rows);
    return ok;
}

static int failed(struct inboxd_event *event, PGconn *conn)
{
    char why[400];
    char *end;

    snprintf(why, sizeof(why), "%s", PQerrorMessage(conn));
    end = strchr(why, '\n');
    if (end)
        *end = '\0';
    return inboxd_retry(event, why);
}

/* Between its two writes it sleeps for as many seconds as the event says, once. */
static int write_twice(struct inboxd_event *event, PGconn *conn, double seconds)
{
    if (!effect(event, conn))
        return failed(event, conn);
    if (inboxd_attempt(event) == 1)
        usleep((useconds_t)(seconds * 1e6));
    return effect(event, conn) ? INBOXD_DONE : failed(event, conn);
}

static int on_connection(struct inboxd_event *event, const char *what, double seconds)
{
    PGconn *conn = inboxd_connection(event);

    if (!conn)
        return inboxd_retry(event, "no connection");
    if (strcmp(what, "twice") == 0)
        return write_twice(event, conn, seconds);
    if (!effect(event, conn))
        return failed(event, conn);
    if (strcmp(what, "commit") == 0)
        (void)!sql(conn, "COMMIT");
    else if (strcmp(what, "rollback") == 0)
        (void)!sql(conn, "ROLLBACK");
    else if (strcmp(what, "anew") == 0)
        (void)!sql(conn, "ROLLBACK; BEGIN; SAVEPOINT e");
    else if (strcmp(what, "broken") == 0)
        (void)!sql(conn, "select 1/0");
    else if (strcmp(what, "unread") == 0)
        PQsendQuery(conn, "select 1");
    else if (strcmp(what, "copy") == 0)
        (void)!sql(conn, "COPY t.effect FROM STDIN");
    else if (strcmp(what, "reset") == 0) {
        PQreset(conn);
        (void)!effect(event, conn);
    } else if (strcmp(what, "write_and_retry") == 0)
        return inboxd_retry(event, "changed my mind");
    else if (strcmp(what, "write_and_reject") == 0)
        return inboxd_reject(event, "never");
    return INBOXD_DONE;
}

/* ---- the event ---- */

/* The text of a member of the payload: enough for the tests. */
static void member(struct inboxd_text payload, const char *name, char *value, size_t size)
{
    char key[32];
    const char *found;
    size_t n = 0;

    value[0] = '\0';
    snprintf(key, sizeof(key), "\"%s\": ", name);
    found = payload.ptr ? strstr(payload.ptr, key) : NULL;
    if (!found)
        return;
    for (found += strlen(key); *found == '"'; found++)
        ;
    while (n + 1 < size && *found && !strchr("\",}", *found))
        value[n++] = *found++;
    value[n] = '\0';
}

/* All that can be read of it, into a table. */
static int tell(struct inboxd_event *event)
{
    PGconn *conn = inboxd_connection(event);
    struct inboxd_text texts[] = {inboxd_provider(event),
                                  inboxd_event_id(event),
                                  inboxd_type(event),
                                  inboxd_key(event),
                                  inboxd_header(event, "X-Test"),
                                  inboxd_header(event, "x-absent"),
                                  inboxd_payload(event),
                                  inboxd_body(event)};
    const char *values[11];
    char id[24], attempt[24], received[24];
    PGresult *rows;
    int ok;

    for (size_t i = 0; i < 8; i++) {
        if (texts[i].ptr && texts[i].ptr[texts[i].len] != '\0')
            return inboxd_reject(event, "a text without a NUL behind it");
        values[i] = texts[i].ptr;
    }
    snprintf(id, sizeof(id), "%lld", (long long)inboxd_id(event));
    snprintf(attempt, sizeof(attempt), "%d", inboxd_attempt(event));
    snprintf(received, sizeof(received), "%lld", (long long)inboxd_received_at(event));
    values[8] = id;
    values[9] = attempt;
    values[10] = received;
    rows = PQexecParams(conn,
                        "insert into t.told values ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, "
                        "$10::int, to_timestamp($11::bigint / 1e6))",
                        11, NULL, values, NULL, NULL, 0);
    ok = PQresultStatus(rows) == PGRES_COMMAND_OK;
    PQclear(rows);
    return ok ? INBOXD_DONE : failed(event, conn);
}

/* Looks at no clock: until the file is there. */
static int hang(struct inboxd_event *event)
{
    char file[256];

    member(inboxd_payload(event), "file", file, sizeof(file));
    while (access(file, F_OK) != 0)
        usleep(1000);
    return INBOXD_DONE;
}

static int on_event(struct inboxd_event *event, void *module, void *thread)
{
    char what[32], text[32];
    double seconds;

    member(inboxd_payload(event), "do", what, sizeof(what));
    member(inboxd_payload(event), "s", text, sizeof(text));
    seconds = strtod(text, NULL);
    die(what);
    if (!module || !thread)
        return inboxd_reject(event, "not started");
    if (strcmp(what, "nothing") == 0)
        return INBOXD_DONE;
    if (strcmp(what, "retry") == 0)
        return inboxd_retry(event, "not now");
    if (strcmp(what, "silent") == 0)
        return INBOXD_RETRY;
    if (strcmp(what, "reject") == 0)
        return inboxd_reject(event, "never");
    if (strcmp(what, "odd") == 0)
        return 17;
    if (strcmp(what, "tell") == 0)
        return tell(event);
    if (strcmp(what, "defer") == 0)
        return inboxd_defer(event, seconds, "too early");
    if (strcmp(what, "hang") == 0)
        return hang(event);
    if (strcmp(what, "wait") == 0) {
        while (inboxd_time_left(event) > 0)
            usleep(50); /* so that it ends as soon as it is told */
        return inboxd_retry(event, "no time left");
    }
    return on_connection(event, what, seconds);
}

static int start(void **module, char *error, size_t error_size)
{
    (void)error;
    (void)error_size;
    *module = strdup("probe");
    return 0;
}

static void stop(void *module)
{
    fprintf(stderr, "probe: stopped\n");
    free(module);
}

static int thread_start(void *module, void **thread)
{
    *thread = strdup(module);
    return 0;
}

static void thread_stop(void *module, void *thread)
{
    (void)module;
    free(thread);
}

INBOXD_MODULE(.init = start, .release = stop, .thread_init = thread_start,
              .thread_release = thread_stop, .handle = on_event);
