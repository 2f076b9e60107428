/* The table of commands and its help texts. */
#include "ctl/command.h"

#include <stdarg.h>
#include <string.h>

#include "ctl/commands.h"

static const struct option_help check_options[] = {
    {"--connect", "also connect to the database and look at its schema"}, {NULL, NULL}};

static const struct option_help migrate_options[] = {
    {"--wait DURATION", "how long to wait for locks that others hold (default 5m)"}, {NULL, NULL}};

static const struct option_help status_options[] = {
    {"--watch", "again every two seconds, until interrupted"},
    {"--json", "as JSON, one document"},
    {NULL, NULL}};

static const struct option_help show_options[] = {
    {"--body", "print the stored bytes, nothing else"}, {"--json", "as JSON"}, {NULL, NULL}};

static const struct option_help list_options[] = {
    {"--provider NAME", "only events of this provider"},
    {"--status WORD", "ready, processing, done or dead"},
    {"--type TYPE", "only events of this type; a trailing * stands for any rest"},
    {"--event-id ID", "the event that its provider calls so"},
    {"--since DURATION", "only events received in this time, such as 90m"},
    {"--error TEXT", "only events whose last error contains this text"},
    {"--limit N", "at most so many rows, the newest first (default 50)"},
    {"--json", "as JSON, one object a line"},
    {NULL, NULL}};

static const struct option_help pause_options[] = {
    {"--why TEXT", "the reason, for those who find it paused"}, {NULL, NULL}};

static const struct option_help blocked_options[] = {
    {"--provider NAME", "only keys of this provider"},
    {"--json", "as JSON, one object a line"},
    {NULL, NULL}};

static const struct option_help replay_options[] = {
    {"--provider NAME", "not by id, but all that fit: only of this provider"},
    {"--type TYPE", "only of this type; a trailing * stands for any rest"},
    {"--status WORD", "dead (the default, also --dead), done or finished (either)"},
    {"--since TIME", "only those that ended since; 90m is so long ago, else a timestamp"},
    {"--until TIME", "only those that ended before"},
    {"--received-since TIME", "only those received since; --received-until TIME: before"},
    {"--error TEXT", "only those whose last error contains this text"},
    {"--error-regex REGEX", "only those whose last error matches"},
    {"--limit N", "at most so many, the oldest first"},
    {"--rate N/s", "no more than so many a second"},
    {"--why TEXT", "the reason, for the record"},
    {"--dry-run", "only say how many, and show the first"},
    {NULL, NULL}};

static const struct option_help quarantine_options[] = {
    {"list",
     "the newest first; --provider NAME, --reason TEXT, --since DURATION, --limit N, --json"},
    {"show ID", "everything about one; --body: the bytes alone, --request: for verify, --json"},
    {"release ID...", "verify again with today's secrets and store; or --provider NAME --all"},
    {"", "[--reason TEXT] [--since DURATION] [--unverified] [--wait DURATION]"},
    {"drop ID...", "forget; or --provider NAME --all [--reason TEXT] [--since DURATION]"},
    {NULL, NULL}};

static const struct option_help secrets_options[] = {
    {"list", "those that wait or are accepted; the default"},
    {"show ID", "print the secret; needs the configuration's capture_key"},
    {"accept ID...", "it verifies its provider's requests from now on"},
    {"reject ID...", "forget it; another may be handed over then"},
    {"--all", "with list: the rejected ones too"},
    {NULL, NULL}};

static const struct option_help verify_options[] = {
    {"--provider NAME", "the section to judge by"},
    {"--request FILE", "the captured HTTP request, head and body; - for standard input"},
    {"--now SECONDS", "judge as of then, in seconds since 1970 (default: now)"},
    {NULL, NULL}};

static const struct option_help send_options[] = {
    {"--event FILE", "the body to send (default: a sample of the provider's kind with a new id)"},
    {"--count N", "send N events, each with an id of its own (default 1)"},
    {"--duplicate", "send each event twice"},
    {"--bad-signature", "sign wrongly on purpose"},
    {"--age SECONDS", "sign with a timestamp so old"},
    {"--header NAME:VALUE", "one more header, such as X-GitHub-Event:push"},
    {"--url URL", "where to (default: the first address of `listen`)"},
    {"--quiet", "print only the sum"},
    {NULL, NULL}};

const struct command commands[] = {
    {"check", "", "read the configuration and name every mistake", check_options, ctl_check},
    {"migrate", "", "bring the database's schema up to date", migrate_options, ctl_migrate},
    {"presets", "[show NAME]", "list the providers that are known by name, or print one's file",
     NULL, ctl_presets},
    {"route", "PROVIDER [TYPE]", "say what would run for an event of this type", NULL, ctl_route},
    {"status", "", "what waits, runs and died, per provider", status_options, ctl_status},
    {"list", "", "list events", list_options, ctl_list},
    {"show", "ID", "everything about one event", show_options, ctl_show},
    {"pause", "PROVIDER", "start nothing of a provider; accepting goes on", pause_options,
     ctl_pause},
    {"resume", "PROVIDER", "end a pause", NULL, ctl_resume},
    {"blocked", "", "keys whose events wait for one that fails (order = strict)", blocked_options,
     ctl_blocked},
    {"skip", "ID WHY", "give up the event that a key waits for; the others go on", NULL, ctl_skip},
    {"discard", "ID WHY", "give up an event that waits or is dead", NULL, ctl_discard},
    {"replay", "[ID...]", "run done or dead events again", replay_options, ctl_replay},
    {"quarantine", "ACTION", "look at what was refused, and release it", quarantine_options,
     ctl_quarantine},
    {"secrets", "[WHAT]", "what providers have handed over: list, show, accept, reject",
     secrets_options, ctl_secrets},
    {"verify", "", "say why a captured request is valid or refused", verify_options, ctl_verify},
    {"send", "PROVIDER", "sign an event as the provider does, and post it", send_options, ctl_send},
    {NULL, NULL, NULL, NULL, NULL}};

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

void command_print_help(const struct command *command, FILE *out)
{
    fprintf(out, "usage: inboxctl [--config FILE] %s%s%s%s\n\n%s\n", command->name,
            command->options ? " [OPTIONS]" : "", *command->arguments ? " " : "",
            command->arguments, command->summary);
    if (!command->options)
        return;
    fputs("\noptions:\n", out);
    for (const struct option_help *option = command->options; option->name; option++)
        fprintf(out, "  %-22s %s\n", option->name, option->help);
}

void command_print_list(FILE *out)
{
    fputs("usage: inboxctl [--config FILE] COMMAND [OPTIONS] [WORDS]\n\n"
          "  --config FILE          the daemon's configuration (default /etc/inboxd/inboxd.conf)\n"
          "  --database CONNINFO    connect so instead of as the daemon does, for example as an "
          "operator\n"
          "  --version              print the version\n"
          "  --help                 print this; after a command, its own help\n\ncommands:\n",
          out);
    for (const struct command *command = commands; command->name; command++)
        fprintf(out, "  %-10s %-13s %s\n", command->name, command->arguments, command->summary);
    fputs("\nexit codes: 0 done, 1 refused or not found, 2 verify cannot tell, 64 wrong command "
          "line, 69 database or "
          "daemon not reached,\n"
          "78 mistakes in the configuration. See inboxctl(1).\n",
          out);
}

int command_usage(const char *name, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "inboxctl: %s: ", name);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\ntry: inboxctl %s --help\n", name);
    return EXIT_USAGE;
}
