/* inboxd-exec PARENT MEMORY FILES PROGRAM [ARGUMENT...]: what has to be done between fork and exec,
 * in a program of its own, since a daemon with threads may do next to nothing there. It becomes
 * PROGRAM; its exit codes are those of shells: 127 where that is not there, 126 where it cannot be
 * run.
 *
 * PARENT: process id of the daemon. MEMORY: most bytes of data; 0: no limit. FILES: most
 * descriptors. */
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANNOT_RUN 126
#define NOT_FOUND 127
#define OWN_ARGUMENTS 4

/* Never above what is allowed: a limit can only be lowered. */
static void set_limit(__rlimit_resource_t resource, rlim_t wanted)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return;
    if (limit.rlim_max != RLIM_INFINITY && wanted > limit.rlim_max)
        wanted = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = wanted;
    setrlimit(resource, &limit);
}

static void close_all(void)
{
    struct rlimit limit;

    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0)
        return;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    for (int fd = STDERR_FILENO + 1; (rlim_t)fd < limit.rlim_cur; fd++)
        close(fd);
}

int main(int argc, char **argv)
{
    long parent, files;
    long long memory;

    if (argc <= OWN_ARGUMENTS) {
        fprintf(stderr, "inboxd-exec: it is inboxd that runs this, not you\n");
        return CANNOT_RUN;
    }
    parent = strtol(argv[1], NULL, 10);
    memory = strtoll(argv[2], NULL, 10);
    files = strtol(argv[3], NULL, 10);

    /* Asked for first, checked then: the parent may be gone already. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if ((long)getppid() != parent)
        return CANNOT_RUN;
    set_limit(RLIMIT_CORE, 0);
    close_all();
    if (files > 0)
        set_limit(RLIMIT_NOFILE, (rlim_t)files);
    /* Data, not address space: runtimes reserve far more of that than they use. */
    if (memory > 0)
        set_limit(RLIMIT_DATA, (rlim_t)memory);
    if (chdir("/") < 0) {
        fprintf(stderr, "inboxd-exec: cannot change to /: %m\n");
        return CANNOT_RUN;
    }
    execve(argv[OWN_ARGUMENTS], argv + OWN_ARGUMENTS, environ);
    if (errno == ENOENT) {
        fprintf(stderr, "cannot run %s: it, or what its first line names, is not there\n",
                argv[OWN_ARGUMENTS]);
        return NOT_FOUND;
    }
    fprintf(stderr, "cannot run %s: %m\n", argv[OWN_ARGUMENTS]);
    return CANNOT_RUN;
}
