/* Time. Monotonic for waiting; wall-clock only for signature windows, log lines and what people
 * read: every time that decides when work runs is the database's. Any thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_us(void); /* microseconds of CLOCK_MONOTONIC */
int64_t clock_wall_us(void); /* microseconds since 1970; a build with fault points honours
                                INBOXD_CLOCK (seconds since 1970) */

#define CLOCK_TEXT_SIZE 28
/* "2026-01-31T12:34:56.789012Z" */
void clock_format(int64_t wall_us, char text[static CLOCK_TEXT_SIZE]);

#endif
