/* One program, its three pipes and its pidfd, watched by one poll(). Its stages:
 *
 *   running --timeout or stop--> asked (SIGTERM) --grace--> killed (SIGKILL) --a while--> given up
 *      \------- exited ------------- exited ------------------- exited
 *
 * Once it has exited, what it left behind may hold its output open for a moment longer. The process
 * stays unreaped until its group got SIGKILL, so that the group's number means no other one. */
#include "exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define LINGER_US (1000 * 1000)     /* for processes that it left behind and that hold its output */
#define UNKILLABLE_US (5000 * 1000) /* one that sleeps in the kernel may outlive SIGKILL */
#define WITHOUT_PIDFD_US (20 * 1000) /* a kernel before 5.3 is asked so often */
#define STOP_US (100 * 1000)         /* how often `stop` is looked at */
#define CHUNK (64 * 1024)

enum stage { STAGE_RUNNING, STAGE_ASKED, STAGE_KILLED, STAGE_EXITED, STAGE_OVER };

struct child {
    const struct exec_program *program;
    struct exec_result *result;
    pid_t pid;
    int in, out, pidfd;      /* ours; -1: closed */
    const atomic_bool *stop; /* NULL: none */
    size_t written;
    enum stage stage;
    int64_t deadline_us; /* of the stage */
    char *chunk;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- starting ---- */

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    int rc = posix_spawnattr_init(attributes);

    sigfillset(&all);
    sigemptyset(&none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETSIGMASK);
    return rc;
}

static int set_actions(posix_spawn_file_actions_t *actions, int in, int out)
{
    int rc = posix_spawn_file_actions_init(actions);

    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, in, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, out, STDERR_FILENO);
    return rc;
}

static char **helper_arguments(const struct exec_program *program)
{
    size_t count = 0;
    char **argv, *own;

    while (program->argv[count])
        count++;
    /* One block: the list, then its first texts. */
    argv = mem_alloc((count + 5) * sizeof(*argv) + 96);
    own = (char *)(argv + count + 5);
    argv[0] = own;
    own += snprintf(own, 16, "inboxd-exec") + 1;
    argv[1] = own;
    own += snprintf(own, 24, "%d", (int)getpid()) + 1;
    argv[2] = own;
    own += snprintf(own, 24, "%lld", (long long)program->memory) + 1;
    argv[3] = own;
    snprintf(own, 24, "%d", program->files);
    memcpy(argv + 4, program->argv, count * sizeof(*argv));
    return argv;
}

static int spawn(struct child *child, int in, int out)
{
    const struct exec_program *program = child->program;
    char **argv = helper_arguments(program);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = set_attributes(&attributes);

    if (rc == 0) {
        rc = set_actions(&actions, in, out);
        if (rc == 0)
            rc = posix_spawn(&child->pid, program->helper, &actions, &attributes, argv,
                             (char *const *)program->environment);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    free(argv);
    return rc;
}

static int start(struct child *child, struct err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, rc = 0;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
        fcntl(in[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0)
        rc = errno;
    if (rc == 0)
        rc = spawn(child, in[0], out[1]);
    close_end(&in[0]);
    close_end(&out[1]);
    if (rc != 0) {
        close_end(&in[1]);
        close_end(&out[0]);
        errno = rc;
        return err_set(err, ERR_AGAIN, "could not start %s: %m", child->program->argv[0]);
    }
    child->in = in[1];
    child->out = out[0];
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return 0;
}

/* ---- its pipes ---- */

static void feed(struct child *child)
{
    struct str input = child->program->input;
    ssize_t n = write(child->in, input.ptr + child->written, input.len - child->written);

    if (n > 0)
        child->written += (size_t)n;
    else if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* Done; or it does not want the rest, which is its own affair. */
    if (n < 0 || child->written == input.len)
        close_end(&child->in);
}

static void listen_to(struct child *child)
{
    ssize_t n = read(child->out, child->chunk, CHUNK);

    if (n > 0)
        tail_add(&child->result->output, child->chunk, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(&child->out);
}

/* ---- its stages ---- */

static void kill_group(const struct child *child, int signal_number)
{
    kill(-child->pid, signal_number);
}

static void ask(struct child *child, enum exec_end why)
{
    child->result->end = why;
    child->stage = STAGE_ASKED;
    child->deadline_us = clock_mono_us() + child->program->grace_ms * 1000;
    kill_group(child, SIGTERM);
    /* What is stopped cannot end. */
    kill_group(child, SIGCONT);
}

static void deadline_passed(struct child *child)
{
    switch (child->stage) {
    case STAGE_RUNNING:
        ask(child, EXEC_TIMEOUT);
        break;
    case STAGE_ASKED:
        kill_group(child, SIGKILL);
        child->stage = STAGE_KILLED;
        child->deadline_us = clock_mono_us() + UNKILLABLE_US;
        break;
    case STAGE_KILLED:
    case STAGE_EXITED:
    case STAGE_OVER:
        child->stage = STAGE_OVER;
        break;
    }
}

/* Notes how it ended, without reaping it. */
static void look_for_exit(struct child *child)
{
    bool ours = child->stage != STAGE_RUNNING;
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid != child->pid)
        return;
    child->result->code = info.si_status;
    if (!ours)
        child->result->end = info.si_code == CLD_EXITED ? EXEC_EXITED : EXEC_KILLED;
    else if (info.si_code == CLD_EXITED)
        child->result->code = 0;
    child->stage = STAGE_EXITED;
    child->deadline_us = clock_mono_us() + LINGER_US;
    if (ours)
        kill_group(child, SIGKILL);
    close_end(&child->in);
}

static bool is_over(const struct child *child)
{
    return child->stage == STAGE_OVER || (child->stage == STAGE_EXITED && child->out < 0);
}

static int wait_ms(const struct child *child, int64_t now_us)
{
    int64_t left = child->deadline_us - now_us;

    if (child->pidfd < 0 && left > WITHOUT_PIDFD_US)
        left = WITHOUT_PIDFD_US;
    if (left > STOP_US)
        left = STOP_US;
    return (int)(left / 1000) + 1;
}

static void watch(struct child *child)
{
    while (!is_over(child)) {
        int64_t now = clock_mono_us();
        bool exited = child->stage == STAGE_EXITED;
        struct pollfd fds[] = {
            {.fd = child->in, .events = POLLOUT},
            {.fd = child->out, .events = POLLIN},
            {.fd = exited ? -1 : child->pidfd, .events = POLLIN},
        };

        if (child->stage == STAGE_RUNNING && child->stop && atomic_load(child->stop))
            ask(child, EXEC_INTERRUPTED);
        if (now >= child->deadline_us) {
            deadline_passed(child);
            continue;
        }
        if (poll(fds, ARRAY_LEN(fds), wait_ms(child, now)) < 0)
            continue; /* EINTR */
        if (fds[0].revents)
            feed(child);
        if (fds[1].revents)
            listen_to(child);
        if (!exited && (fds[2].revents || child->pidfd < 0))
            look_for_exit(child);
    }
}

/* What is left of its group, and itself. */
static void finish(struct child *child)
{
    siginfo_t info;

    kill_group(child, SIGKILL);
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) < 0 && errno == EINTR)
        ;
    close_end(&child->in);
    close_end(&child->out);
    close_end(&child->pidfd);
}

int exec_run(const struct exec_program *program, const atomic_bool *stop,
             struct exec_result *result, struct err *err)
{
    int64_t began = clock_mono_us();
    struct child child = {.program = program,
                          .result = result,
                          .in = -1,
                          .out = -1,
                          .pidfd = -1,
                          .stop = stop,
                          .deadline_us = began + program->timeout_ms * 1000};

    *result = (struct exec_result){0};
    tail_init(&result->output, program->output_max);
    if (start(&child, err) < 0)
        return -1;
    child.chunk = mem_alloc(CHUNK);
    if (program->input.len == 0)
        close_end(&child.in);
    watch(&child);
    finish(&child);
    free(child.chunk);
    result->took_us = clock_mono_us() - began;
    return 0;
}

void exec_result_release(struct exec_result *result)
{
    tail_release(&result->output);
}
