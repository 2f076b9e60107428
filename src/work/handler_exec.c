/* `exec:/path`: a program, run without a shell. The event's body is its input, the rest is in its
 * environment; its exit code says how it ended: 0 done, 65 never, 75 retry, 99 too early, anything
 * else retry (65 and 75 are EX_DATAERR and EX_TEMPFAIL of sysexits.h). What it printed explains it:
 * its last line the error, since errors are counted by their text, the whole the attempt. */
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "exec/environment.h"
#include "exec/exec.h"
#include "work/handler.h"
#include "work/headers.h"

#define CODE_NEVER 65
#define CODE_EARLY 99
#define GRACE_MS 1000 /* less than the daemon's own, beyond shutdown_timeout */
#define FILES 1024
#define LINE_MAX_BYTES 1024
#define US_FROM_1970_TO_2000 INT64_C(946684800000000)

struct program {
    const char *argv[2];
    const char *helper, *home;
};

/* ---- compiling ---- */

static const char *home(struct arena *arena)
{
    char bytes[4096];
    struct passwd user, *found;

    if (getpwuid_r(geteuid(), &user, bytes, sizeof(bytes), &found) != 0 || !found ||
        !found->pw_dir || found->pw_dir[0] != '/')
        return "/";
    return arena_copy(arena, str_from(found->pw_dir)).ptr;
}

static bool is_folder(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static int compile(const struct provider_config *provider, struct action *action,
                   struct arena *arena, struct err *err)
{
    struct program *program = arena_alloc(arena, sizeof(*program));
    char *helper = exec_helper_path(err);

    if (!helper)
        return -1;
    program->helper = arena_copy(arena, str_from(helper)).ptr;
    free(helper);
    program->argv[0] = arena_copy(arena, action->name).ptr;
    program->home = home(arena);
    action->data = program;
    if (access(program->argv[0], X_OK) < 0 || is_folder(program->argv[0]))
        log_event(LOG_WARN, "program cannot be run yet, its events will be retried",
                  F_STR("provider", provider->name), F_STR("program", action->name));
    return 0;
}

/* ---- what it gets ---- */

static void add_number(struct environment *environment, const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)number);
    environment_add(environment, name, str_from(text));
}

static struct environment *environment_of(const struct handler_run *run,
                                          const struct program *program)
{
    struct environment *environment = environment_new();
    const struct handler_event *event = run->event;
    struct arena *arena = arena_new(4096);
    struct headers headers;
    struct str name, value;
    char time[CLOCK_TEXT_SIZE];

    clock_format(event->received_at + US_FROM_1970_TO_2000, time);
    environment_add(environment, "PATH",
                    STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    environment_add(environment, "LANG", STR("C.UTF-8"));
    environment_add(environment, "HOME", str_from(program->home));
    add_number(environment, "INBOXD_ID", event->id);
    add_number(environment, "INBOXD_ATTEMPT", event->attempt);
    environment_add(environment, "INBOXD_PROVIDER", event->provider);
    environment_add(environment, "INBOXD_EVENT_ID", event->event_id);
    environment_add(environment, "INBOXD_EVENT_TYPE", event->type);
    environment_add(environment, "INBOXD_KEY", event->key);
    environment_add(environment, "INBOXD_RECEIVED_AT", str_from(time));
    headers_begin(&headers, event->headers, arena);
    while (headers_next(&headers, &name, &value))
        environment_add_header(environment, name, value);
    arena_free(arena);
    return environment;
}

/* ---- how it ended ---- */

static void put_signal(struct buf *buf, int number)
{
    const char *name = sigabbrev_np(number);

    if (name)
        buf_printf(buf, "SIG%s", name);
    else
        buf_printf(buf, "signal %d", number);
}

static enum handler_end end_of(const struct exec_result *exec)
{
    switch (exec->end) {
    case EXEC_EXITED:
        return exec->code == 0            ? HANDLER_DONE
               : exec->code == CODE_NEVER ? HANDLER_DEAD
               : exec->code == CODE_EARLY ? HANDLER_DEFER
                                          : HANDLER_RETRY;
    case EXEC_KILLED:
        break;
    case EXEC_TIMEOUT:
        return HANDLER_TIMEOUT;
    case EXEC_INTERRUPTED:
        return HANDLER_INTERRUPTED;
    }
    return HANDLER_RETRY;
}

static void put_end(struct buf *buf, const struct handler_run *run, const struct exec_result *exec)
{
    switch (exec->end) {
    case EXEC_EXITED:
        buf_printf(buf, "exit status %d", exec->code);
        break;
    case EXEC_KILLED:
        buf_put_str(buf, STR("killed by "));
        put_signal(buf, exec->code);
        break;
    case EXEC_TIMEOUT:
        buf_printf(buf, "did not end within timeout (%g s)",
                   (double)run->provider->timeout_ms / 1000);
        if (exec->code == SIGKILL)
            buf_put_str(buf, STR(", nor when it got SIGTERM"));
        break;
    case EXEC_INTERRUPTED: /* no fault of its own: nothing to explain */
        break;
    }
}

static struct str last_line(struct str text)
{
    for (size_t i = text.len; i > 0; i--)
        if (text.ptr[i - 1] == '\n')
            return (struct str){text.ptr + i, text.len - i};
    return text;
}

static char *take_text(struct buf *buf)
{
    buf_put_char(buf, '\0');
    return buf->data;
}

static void explain(const struct handler_run *run, const struct exec_result *exec,
                    struct handler_result *result)
{
    struct buf output, error, more;
    struct str all, line, shown;
    bool cut;

    buf_init(&output, BUF_NO_CAP);
    buf_init(&error, BUF_NO_CAP);
    tail_text(&exec->output, &output, &cut);
    all = buf_str(&output);
    line = last_line(all);
    shown = utf8_cut(line, LINE_MAX_BYTES);
    put_end(&error, run, exec);
    if (line.len > 0)
        buf_printf(&error, ": %.*s", STR_ARG(shown));
    if (shown.len < line.len || (cut && line.len == all.len))
        buf_printf(&error, " [cut, %llu bytes in all]", (unsigned long long)exec->output.all);
    result->error = take_text(&error);
    if (shown.len < all.len || cut) {
        buf_init(&more, BUF_NO_CAP);
        buf_put_str(&more, STR("OUTPUT"));
        if (cut)
            buf_printf(&more, " (the end of %llu bytes)", (unsigned long long)exec->output.all);
        buf_printf(&more, ": %.*s", STR_ARG(all));
        result->more = take_text(&more);
    }
    buf_release(&output);
}

static void run_program(struct handler_run *run, struct handler_result *result)
{
    const struct program *program = run->action->data;
    struct environment *environment = environment_of(run, program);
    struct exec_program exec = {
        .helper = program->helper,
        .argv = program->argv,
        .environment = environment_list(environment),
        .input = run->event->body,
        .timeout_ms = (run->deadline_us - clock_mono_us()) / 1000,
        .grace_ms = GRACE_MS,
        .memory = run->provider->exec_memory,
        .files = FILES,
        .output_max = (size_t)run->provider->exec_output,
    };
    struct exec_result ended;
    struct err err;

    if (exec_run(&exec, run->interrupted, &ended, &err) < 0) {
        result->end = HANDLER_RETRY;
        result->error = mem_copy(str_from(err.text));
    } else {
        result->end = end_of(&ended);
        result->delay_s = -1;
        if (result->end != HANDLER_DONE && result->end != HANDLER_INTERRUPTED)
            explain(run, &ended, result);
    }
    exec_result_release(&ended);
    environment_free(environment);
}

const struct handler_kind handler_exec = {
    .name = "exec", .class = WORK_LEASED, .compile = compile, .run = run_program};
