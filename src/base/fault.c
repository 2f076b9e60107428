/* Fault points of test builds; see fault.h. The environment is read at every passage: tests are not
 * hurried. */
#include "base/fault.h"

#ifdef INBOXD_FAULTS

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#define MAX_POINTS 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char name[64];
    long passages;
} points[MAX_POINTS];

static long count_passage(const char *name)
{
    long passages = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_POINTS; i++) {
        if (points[i].name[0] == '\0')
            snprintf(points[i].name, sizeof(points[i].name), "%s", name);
        if (strcmp(points[i].name, name) == 0) {
            passages = ++points[i].passages;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return passages;
}

static void wait_ms(long ms)
{
    struct timespec duration = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&duration, NULL);
}

static bool act(const char *action, long passages)
{
    const char *colon = strchr(action, ':');
    long number = colon ? strtol(colon + 1, NULL, 10) : 0;

    if (strncmp(action, "kill", 4) == 0 && passages == (number ? number : 1))
        raise(SIGKILL);
    if (strncmp(action, "wait", 4) == 0)
        wait_ms(number);
    return strncmp(action, "error", 5) == 0 && (number == 0 || passages <= number);
}

bool fault(const char *name)
{
    const char *list = getenv("INBOXD_FAULTS"); /* NOLINT(concurrency-mt-unsafe) */
    size_t len = strlen(name);

    while (list && *list) {
        if (strncmp(list, name, len) == 0 && list[len] == '=')
            return act(list + len + 1, count_passage(name));
        list = strchr(list, ',');
        if (list)
            list++;
    }
    return false;
}

#endif
