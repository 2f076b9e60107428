/* What a daemon asks of its process: no core files, enough descriptors, memory that stays. Called
 * once from main() before there are threads. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stddef.h>

/* Secrets and payloads are in memory: no core is written and no other process of the same user may
 * attach, unless INBOXD_CORE=1 is in the environment. SIGPIPE is ignored. */
void process_harden(void);

/* Blanks the values of the environment where `ps e` and /proc/PID/environ read them; getenv() finds
 * all as before. Secrets may be among them (`secret = env:NAME`, PGPASSWORD). */
void process_hide_environment(void);

/* Gives memory that was freed back to the system. Any thread; takes milliseconds. */
void process_give_back(void);

/* Raises the limit of open files to `wanted` where that is allowed; returns what the limit is now.
 */
size_t process_descriptors(size_t wanted);

/* Blocks the signals that stop or reload, so that threads made from now on leave them to the main
 * thread. */
void process_block_signals(void);

#endif
