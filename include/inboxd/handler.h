/* inboxd/handler.h: handlers in C, as plug-ins (`on = module:NAME`). See inboxd-handler(3).
 *
 * A plug-in is a shared object NAME.so in the folder `module_path` of the configuration. It exports
 * one symbol, made by INBOXD_MODULE(). This header is all that it needs of inboxd; there is nothing
 * to link with. libpq is needed only by those that use inboxd_connection().
 *
 *     static int on_event(struct inboxd_event *event, void *module, void *thread)
 *     {
 *         struct inboxd_text payload = inboxd_payload(event);
 *         ...
 *         return INBOXD_DONE;
 *     }
 *
 *     INBOXD_MODULE(.handle = on_event);
 *
 * Threads: `handle` is called by several threads at once, with a different event each; an event and
 * whatever is read from it belong to the call, and are gone when it returns. A plug-in shares the
 * daemon's process: what crashes, it crashes (the daemon is started again, the event runs alone
 * from then on, and is dead when its attempts are used up). It must not change what belongs to the
 * process: signal handlers, the working folder, the environment, children of others, the locale.
 *
 * Versions: INBOXD_HANDLER_ABI changes when a plug-in has to be compiled anew; the daemon refuses
 * one of another version by name. Functions are only ever added at the end of `struct inboxd_api`.
 */
#ifndef INBOXD_HANDLER_H
#define INBOXD_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INBOXD_HANDLER_ABI 1

struct inboxd_event; /* one run of the handler for one event */
struct pg_conn;      /* libpq's PGconn */

/* Borrowed bytes; a NUL follows that `len` does not count. ptr is NULL where there is none. */
struct inboxd_text {
    const char *ptr;
    size_t len;
};

/* What `handle` returns. Whatever it returns but INBOXD_DONE, what it did with inboxd_connection()
 * is rolled back. */
enum inboxd_result {
    INBOXD_DONE = 0,
    INBOXD_RETRY = 1,  /* failed: again after the provider's `backoff`, dead after `attempts` */
    INBOXD_DEFER = 2,  /* too early: again later, without costing an attempt */
    INBOXD_REJECT = 3, /* never: dead now, a person looks at it */
};

/* What the daemon does for a plug-in. Use the functions below. */
struct inboxd_api {
    uint32_t abi, size;
    int64_t (*id)(struct inboxd_event *event);
    int (*attempt)(struct inboxd_event *event);
    int64_t (*received_at)(struct inboxd_event *event);
    struct inboxd_text (*text)(struct inboxd_event *event, int which);
    struct inboxd_text (*header)(struct inboxd_event *event, const char *name);
    int64_t (*time_left)(struct inboxd_event *event);
    struct pg_conn *(*connection)(struct inboxd_event *event);
    int (*end)(struct inboxd_event *event, int result, double delay, const char *reason);
};

/* Its first member is all that a plug-in may know of an event. */
struct inboxd_event_head {
    const struct inboxd_api *api;
};

#define INBOXD_API(event) (((const struct inboxd_event_head *)(const void *)(event))->api)

enum inboxd_which {
    INBOXD_PROVIDER = 0,
    INBOXD_EVENT_ID = 1,
    INBOXD_TYPE = 2,
    INBOXD_KEY = 3,
    INBOXD_HEADERS = 4,
    INBOXD_PAYLOAD = 5,
    INBOXD_BODY = 6,
};

/* ---- the event ---- */

/* The number that inboxctl and the tables know it by. */
static inline int64_t inboxd_id(struct inboxd_event *event)
{
    return INBOXD_API(event)->id(event);
}

/* From 1. Above 1, an earlier run failed, or did not come to its end: it may have done its work. */
static inline int inboxd_attempt(struct inboxd_event *event)
{
    return INBOXD_API(event)->attempt(event);
}

/* Microseconds since 1970-01-01 00:00 UTC. */
static inline int64_t inboxd_received_at(struct inboxd_event *event)
{
    return INBOXD_API(event)->received_at(event);
}

/* The configuration's name of who sent it. */
static inline struct inboxd_text inboxd_provider(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_PROVIDER);
}

/* The sender's identity of it: the same however often the event is sent and run. */
static inline struct inboxd_text inboxd_event_id(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_EVENT_ID);
}

/* May be absent. */
static inline struct inboxd_text inboxd_type(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_TYPE);
}

/* The ordering key; may be absent. */
static inline struct inboxd_text inboxd_key(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_KEY);
}

/* A JSON object, names in lower case. Headers that carry secrets read "[redacted]". */
static inline struct inboxd_text inboxd_headers(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_HEADERS);
}

/* The value of one of them, `name` in any case; repeated ones are joined by ", ". May be absent. */
static inline struct inboxd_text inboxd_header(struct inboxd_event *event, const char *name)
{
    return INBOXD_API(event)->header(event, name);
}

/* The body as JSON text in UTF-8, as PostgreSQL's jsonb prints it. Absent where the body is none.
 */
static inline struct inboxd_text inboxd_payload(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_PAYLOAD);
}

/* The bytes that were sent. Absent where only the payload is stored. */
static inline struct inboxd_text inboxd_body(struct inboxd_event *event)
{
    return INBOXD_API(event)->text(event, INBOXD_BODY);
}

/* ---- the run ---- */

/* Milliseconds until the provider's `timeout`, at least 0. 0 also when the daemon ends and waits no
 * longer. Handlers that take long look at it now and then and return INBOXD_RETRY: nobody can stop
 * them. One that goes on may run a second time beside itself; its use of inboxd_connection() will
 * then not commit. */
static inline int64_t inboxd_time_left(struct inboxd_event *event)
{
    return INBOXD_API(event)->time_left(event);
}

/* The worker's connection, inside of the transaction that marks the event as done: what is done
 * there is there exactly once. A round trip the first time; a handler that never asks costs none.
 * Blocking mode, search_path pg_catalog, statement_timeout what is left of `timeout`.
 *
 * NULL: the database is away or another worker has the event; return INBOXD_RETRY, which then costs
 * no attempt. The transaction is the daemon's: no COMMIT (it fails), no ROLLBACK but to savepoints
 * of one's own, no PQfinish, no PQreset; SET LOCAL, not SET; no "SET CONSTRAINTS ALL IMMEDIATE"
 * (name the constraints). A handler that breaks this has failed, and is tried again. */
static inline struct pg_conn *inboxd_connection(struct inboxd_event *event)
{
    return INBOXD_API(event)->connection(event);
}

/* ---- its end ---- */

/* For `return`. The reason is copied; one line that is the same for the same fault, since errors
 * are counted by it. NULL: none. */
static inline int inboxd_retry(struct inboxd_event *event, const char *reason)
{
    return INBOXD_API(event)->end(event, INBOXD_RETRY, -1, reason);
}

/* `delay` in seconds; below 0: the provider's `defer`. */
static inline int inboxd_defer(struct inboxd_event *event, double delay, const char *reason)
{
    return INBOXD_API(event)->end(event, INBOXD_DEFER, delay, reason);
}

static inline int inboxd_reject(struct inboxd_event *event, const char *reason)
{
    return INBOXD_API(event)->end(event, INBOXD_REJECT, -1, reason);
}

/* ---- the plug-in ---- */

/* Members that are not named are NULL. */
struct inboxd_module {
    uint32_t abi, size;
    /* Once, before anything else, in the main thread: at the start, or at the reload that brings
     * the first route to the module. Not 0: the module cannot be used, `error` says why; that is
     * logged, and the events of the providers that name the module wait. */
    int (*init)(void **module, char *error, size_t error_size);
    /* When no route leads to it any more, or at the end of the daemon; no handler runs then. The
     * shared object stays loaded: a new version of it is taken up by a restart. */
    void (*release)(void *module);
    /* Before the first event of a thread, in that thread. Not 0: the event is tried again. */
    int (*thread_init)(void *module, void **thread);
    /* When that thread ends, in that thread, or before `release`, in any. */
    void (*thread_release)(void *module, void *thread);
    /* One event; required. Returns one of enum inboxd_result. */
    int (*handle)(struct inboxd_event *event, void *module, void *thread);
};

#define INBOXD_MODULE_SYMBOL "inboxd_module"

extern __attribute__((visibility("default"))) const struct inboxd_module inboxd_module;

/* INBOXD_MODULE(.init = start, .handle = on_event); */
#define INBOXD_MODULE(...)                                                                         \
    const struct inboxd_module inboxd_module = {                                                   \
        .abi = INBOXD_HANDLER_ABI, .size = sizeof(struct inboxd_module), __VA_ARGS__}

#ifdef __cplusplus
}
#endif

#endif
