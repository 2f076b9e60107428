/* The functions behind the table of commands (command.h). Each lives in the file of its subject:
 * ctl_check.c, ctl_migrate.c, ctl_presets.c, ctl_status.c, ctl_events.c (list, show), ctl_pause.c
 * (pause, resume), ctl_blocked.c (blocked, skip, discard), ctl_replay.c, ctl_route.c, ctl_verify.c,
 * ctl_quarantine.c, ctl_send.c. */
#ifndef CTL_COMMANDS_H
#define CTL_COMMANDS_H

#include "ctl/command.h"

int ctl_check(const struct context *context, int argc, char **argv);
int ctl_migrate(const struct context *context, int argc, char **argv);
int ctl_presets(const struct context *context, int argc, char **argv);
int ctl_status(const struct context *context, int argc, char **argv);
int ctl_list(const struct context *context, int argc, char **argv);
int ctl_show(const struct context *context, int argc, char **argv);
int ctl_route(const struct context *context, int argc, char **argv);
int ctl_pause(const struct context *context, int argc, char **argv);
int ctl_blocked(const struct context *context, int argc, char **argv);
int ctl_discard(const struct context *context, int argc, char **argv);
int ctl_skip(const struct context *context, int argc, char **argv);
int ctl_resume(const struct context *context, int argc, char **argv);
int ctl_replay(const struct context *context, int argc, char **argv);
int ctl_quarantine(const struct context *context, int argc, char **argv);
int ctl_secrets(const struct context *context, int argc, char **argv);
int ctl_verify(const struct context *context, int argc, char **argv);
int ctl_send(const struct context *context, int argc, char **argv);

#endif
