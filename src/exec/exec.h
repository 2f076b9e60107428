/* Runs a program to its end: without a shell, in a session and process group of its own, with
 * limits, its input on a pipe, the end of its output kept. Nothing of it is left when exec_run()
 * returns, but for processes that left its group (setsid) of their own accord.
 *
 * The program is started by a small helper program, which sets the limits and asks the kernel to
 * kill it when the thread that started it ends: so when the daemon is killed, too. No handler for
 * SIGCHLD is needed, none may reap children behind our back; SIGPIPE must be ignored. Any number of
 * threads may run programs at once. */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include <stdatomic.h>

#include "base/err.h"
#include "exec/tail.h"

struct exec_program {
    const char *helper;      /* exec_helper_path() */
    const char *const *argv; /* argv[0]: the program's whole path; NULL at the end */
    const char *const *environment;
    struct str input;   /* borrowed; the program need not read it */
    int64_t timeout_ms; /* then SIGTERM to the whole group, */
    int64_t grace_ms;   /* and so much later SIGKILL */
    int64_t memory;     /* most bytes of data that each of its processes may have; 0: no limit */
    int files;          /* most descriptors */
    size_t output_max;  /* bytes of its output that are kept, the last ones */
};

enum exec_end {
    EXEC_EXITED,      /* by itself, code: 0 to 255 */
    EXEC_KILLED,      /* by a signal that was not ours, code: its number */
    EXEC_TIMEOUT,     /* we ended it, because its time was up */
    EXEC_INTERRUPTED, /* we ended it, because `stop` said so */
};

struct exec_result {
    enum exec_end end;
    int code; /* of EXEC_TIMEOUT and EXEC_INTERRUPTED: the signal that it died of, 0: none */
    int64_t took_us;
    struct tail output; /* standard output and standard error, as they came */
};

/* Exit codes of the helper's own, as shells have them; the reason is in the output. */
#define EXEC_CODE_CANNOT_RUN 126
#define EXEC_CODE_NOT_FOUND 127

/* `stop`, NULL: none: set by another thread when the program must end; looked at every 100 ms. -1:
 * it could not be started, and nothing ran. The result is to be released in either case. */
int exec_run(const struct exec_program *program, const atomic_bool *stop,
             struct exec_result *result, struct err *err) MUST_CHECK;
void exec_result_release(struct exec_result *result); /* may be zeroed */

/* Where the helper is: beside this program (a build tree), in the libexec of the prefix that this
 * program is in, or where it was to be installed. NULL with ERR_NEVER when it is nowhere. Taken:
 * free(). */
char *exec_helper_path(struct err *err);

#endif
