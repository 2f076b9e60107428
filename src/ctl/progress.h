/* How far a long command has come, on standard error where that is a terminal, and whether somebody
 * has pressed Ctrl-C meanwhile: the command ends in its own order then. */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* "replayed" */
    int64_t total;    /* 0: not known */
    int64_t started_us, shown_us;
    bool terminal, drawn;
};

/* From here on Ctrl-C is only noted. */
void progress_begin(struct progress *progress, const char *what, int64_t total);
/* Draws at most ten times a second, and nothing in the first half second. */
void progress_show(struct progress *progress, int64_t done);
/* Takes what was drawn away. */
void progress_end(struct progress *progress);

bool progress_interrupted(void);

#endif
