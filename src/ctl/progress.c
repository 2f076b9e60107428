/* One line, drawn over itself. */
#include "ctl/progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define WIDTH 30
#define QUIET_US (500 * 1000)
#define EVERY_US (100 * 1000)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

bool progress_interrupted(void)
{
    return interrupted != 0;
}

void progress_begin(struct progress *progress, const char *what, int64_t total)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    int64_t now = clock_mono_us();

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    *progress = (struct progress){
        .what = what, .total = total, .started_us = now, .terminal = isatty(STDERR_FILENO) == 1};
}

static void draw(const struct progress *progress, int64_t done, int64_t elapsed_us)
{
    static const char full[] = "##############################",
                      empty[] = "..............................";
    long long rate = (long long)(done * 1000000 / elapsed_us);
    int filled;

    if (progress->total == 0) {
        fprintf(stderr, "\r%s %lld, %lld/s\033[K", progress->what, (long long)done, rate);
        return;
    }
    filled = (int)(done * WIDTH / progress->total);
    fprintf(stderr, "\r[%.*s%.*s] %s %lld of %lld, %lld/s\033[K", filled, full, WIDTH - filled,
            empty, progress->what, (long long)done, (long long)progress->total, rate);
}

void progress_show(struct progress *progress, int64_t done)
{
    int64_t now = clock_mono_us();

    if (!progress->terminal || now - progress->started_us < QUIET_US ||
        now - progress->shown_us < EVERY_US)
        return;
    progress->shown_us = now;
    progress->drawn = true;
    draw(progress, done, now - progress->started_us);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
