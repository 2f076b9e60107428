/* `module:NAME`: a plug-in in C. It sees an event by functions (include/inboxd/handler.h). The
 * connection is lent only when it asks for it: between two savepoints of ours and with a row in
 * inboxd.lent, whose deferred trigger refuses the commit while the row is there. So a plug-in that
 * commits undoes its own work, and one that rolls back, or begins anew, is found by the savepoint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "inboxd/handler.h"
#include "work/handler.h"
#include "work/headers.h"
#include "work/module.h"

#define US_FROM_1970_TO_2000 INT64_C(946684800000000)

struct inboxd_event {
    struct inboxd_event_head head; /* first: all that a plug-in may touch */
    struct handler_run *run;
    struct handler_result *result;
    struct arena *arena; /* what it has read */
    struct inboxd_text texts[INBOXD_BODY + 1];
    bool read[INBOXD_BODY + 1];
    struct pg_conn *connection; /* NULL: not lent */
    struct err why_not;         /* it could not be lent */
};

/* ---- what it may ask ---- */

static int64_t get_id(struct inboxd_event *event)
{
    return event->run->event->id;
}

static int get_attempt(struct inboxd_event *event)
{
    return event->run->event->attempt;
}

static int64_t get_received_at(struct inboxd_event *event)
{
    return event->run->event->received_at + US_FROM_1970_TO_2000;
}

static struct str stored_text(const struct handler_event *event, int which)
{
    switch ((enum inboxd_which)which) {
    case INBOXD_PROVIDER:
        return event->provider;
    case INBOXD_EVENT_ID:
        return event->event_id;
    case INBOXD_TYPE:
        return event->type;
    case INBOXD_KEY:
        return event->key;
    case INBOXD_HEADERS:
        return event->headers;
    case INBOXD_PAYLOAD:
        return event->payload;
    case INBOXD_BODY:
        return event->body;
    }
    return STR_NONE;
}

static struct inboxd_text get_text(struct inboxd_event *event, int which)
{
    if (which < 0 || (size_t)which >= ARRAY_LEN(event->texts))
        return (struct inboxd_text){NULL, 0};
    if (!event->read[which]) {
        struct str copy = arena_copy(event->arena, stored_text(event->run->event, which));

        event->texts[which] = (struct inboxd_text){copy.ptr, copy.len};
        event->read[which] = true;
    }
    return event->texts[which];
}

static struct inboxd_text get_header(struct inboxd_event *event, const char *wanted)
{
    struct headers headers;
    struct str name, value;

    headers_begin(&headers, event->run->event->headers, event->arena);
    while (headers_next(&headers, &name, &value)) {
        if (str_equal_nocase(name, str_from(wanted))) {
            value = arena_copy(event->arena, value);
            return (struct inboxd_text){value.ptr, value.len};
        }
    }
    return (struct inboxd_text){NULL, 0};
}

/* Rounded up: who was told 0 and returns is late (end_of()). */
static int64_t get_time_left(struct inboxd_event *event)
{
    int64_t left_us = event->run->deadline_us - clock_mono_us();

    return left_us > 0 && !atomic_load(event->run->interrupted) ? (left_us + 999) / 1000 : 0;
}

static int end(struct inboxd_event *event, int result, double delay, const char *reason)
{
    free(event->result->error);
    event->result->error = reason ? mem_copy(str_from(reason)) : NULL;
    event->result->delay_s = delay;
    return result;
}

/* ---- the connection ---- */

static int lend(struct inboxd_event *event, struct err *err)
{
    struct handler_run *run = event->run;
    char sql[128];

    if (handler_begin(run, err) < 0)
        return -1;
    snprintf(sql, sizeof(sql), "insert into inboxd.lent (id) values (%lld); SAVEPOINT inboxd_lent",
             (long long)run->event->id);
    if (db_exec(run->db, sql, err) < 0)
        return -1;
    event->connection = db_lend(run->db);
    return 0;
}

static struct pg_conn *get_connection(struct inboxd_event *event)
{
    if (!event->connection && event->why_not.kind == ERR_NONE)
        (void)!lend(event, &event->why_not);
    return event->connection;
}

/* As it was lent, or `err` says what the plug-in did to it. */
static int take_back(struct inboxd_event *event, bool done, struct err *err)
{
    char sql[128];

    event->connection = NULL;
    if (db_take_back(event->run->db, err) < 0)
        return err_prefix(err, "the module's use of the connection does not count");
    if (!done)
        return 0;
    snprintf(sql, sizeof(sql),
             "RELEASE SAVEPOINT inboxd_lent; delete from inboxd.lent where id = %lld",
             (long long)event->run->event->id);
    if (db_exec(event->run->db, sql, err) == 0)
        return 0;
    if (strcmp(db_sqlstate(event->run->db), "3B001") == 0)
        return err_set(err, ERR_AGAIN,
                       "the module's use of the connection does not count: it ended the "
                       "transaction that it was lent, and began another");
    return -1;
}

/* ---- its end ---- */

static enum handler_end end_of(const struct inboxd_event *event, int result)
{
    bool late = clock_mono_us() >= event->run->deadline_us;

    switch (result) {
    case INBOXD_DONE:
        return HANDLER_DONE;
    case INBOXD_DEFER:
        return HANDLER_DEFER;
    case INBOXD_REJECT:
        return HANDLER_DEAD;
    default:
        break;
    }
    if (atomic_load(event->run->interrupted))
        return HANDLER_INTERRUPTED;
    return late ? HANDLER_TIMEOUT : HANDLER_RETRY;
}

static void fail(struct handler_result *result, const char *reason)
{
    free(result->error);
    result->end = HANDLER_RETRY;
    result->error = mem_copy(str_from(reason));
}

static void finish(struct inboxd_event *event, int code)
{
    struct handler_result *result = event->result;
    struct err err = {0};

    result->end = end_of(event, code);
    if (code < INBOXD_DONE || code > INBOXD_REJECT) {
        char why[80];

        snprintf(why, sizeof(why), "the module returned %d, which is no result", code);
        fail(result, why);
    }
    if (event->connection && take_back(event, result->end == HANDLER_DONE, &err) < 0 &&
        result->end == HANDLER_DONE)
        fail(result, err.text);
    else if (event->why_not.kind != ERR_NONE && result->end == HANDLER_DONE)
        fail(result, event->why_not.text);
    if (result->end == HANDLER_DONE || result->end == HANDLER_INTERRUPTED) {
        free(result->error);
        result->error = NULL;
    } else if (!result->error) {
        result->error = mem_copy(STR("the module gave no reason"));
    }
}

static const struct inboxd_api api = {
    .abi = INBOXD_HANDLER_ABI,
    .size = sizeof(api),
    .id = get_id,
    .attempt = get_attempt,
    .received_at = get_received_at,
    .text = get_text,
    .header = get_header,
    .time_left = get_time_left,
    .connection = get_connection,
    .end = end,
};

static void run_module(struct handler_run *run, struct handler_result *result)
{
    struct inboxd_event event = {
        .head = {&api}, .run = run, .result = result, .arena = arena_new(4096)};
    struct err err;
    int code;

    result->delay_s = -1;
    if (module_handle(run->action->data, &event, &code, &err) < 0)
        fail(result, err.text);
    else
        finish(&event, code);
    arena_free(event.arena);
}

static int compile(const struct provider_config *provider, struct action *action,
                   struct arena *arena, struct err *err)
{
    (void)arena;
    action->data = module_ref(provider->module_path.ptr, action->name, err);
    return action->data ? 0 : -1;
}

static void release(struct action *action)
{
    module_unref(action->data);
}

const struct handler_kind handler_module = {.name = "module",
                                            .class = WORK_LEASED,
                                            .wants_payload = true,
                                            .in_process = true,
                                            .compile = compile,
                                            .release = release,
                                            .run = run_module};
