/* Process-wide settings. */
#include "base/process.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"

/* Free memory at the end of the heap that is kept. Without it the heap is given back and fetched
 * again with every burst of requests: measured, half of the front end's processor time. */
#define KEPT_MEMORY (16 * 1024 * 1024)

static int wants_core(void)
{
    const char *text = getenv("INBOXD_CORE"); /* NOLINT(concurrency-mt-unsafe) */

    return text && strcmp(text, "1") == 0;
}

void process_harden(void)
{
    const struct rlimit none = {0, 0};

    (void)signal(SIGPIPE, SIG_IGN);
    mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY); /* NOLINT(concurrency-mt-unsafe): no threads yet */
    mallopt(M_TOP_PAD, 1024 * 1024);        /* NOLINT(concurrency-mt-unsafe) */
    if (wants_core())
        return;
    setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* its leak check attaches to the process */
    /* A core that is piped to a program is not held back by the limit. */
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

void process_hide_environment(void)
{
    size_t count = 0, bytes = 0;
    char **copies, *text;

    for (; environ && environ[count]; count++)
        bytes += strlen(environ[count]) + 1;
    /* One block: whoever unsets a variable forgets its text, and nothing would free that. */
    copies = mem_alloc((count + 1) * sizeof(*copies) + bytes);
    text = (char *)(copies + count + 1);
    for (size_t i = 0; i < count; i++) {
        char *value = strchr(environ[i], '=');
        size_t len = strlen(environ[i]) + 1;

        copies[i] = memcpy(text, environ[i], len);
        text += len;
        if (value)
            secret_wipe(value + 1, strlen(value + 1));
    }
    environ = copies; /* lives as long as the process */
}

size_t process_descriptors(size_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < wanted) {
        struct rlimit more = limit;

        more.rlim_cur = wanted;
        if (more.rlim_max < wanted)
            more.rlim_max = wanted;
        if (setrlimit(RLIMIT_NOFILE, &more) < 0) {
            more = limit;
            more.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
            setrlimit(RLIMIT_NOFILE, &more);
        }
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

void process_give_back(void)
{
    malloc_trim(0);
}

void process_block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}
