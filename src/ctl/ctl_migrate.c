/* inboxctl migrate. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "db/migrate.h"

#define DEFAULT_WAIT_MS (5 * 60 * 1000)

static void report(void *argument, enum migrate_step step, const char *name)
{
    const struct context *context = argument;

    if (step == MIGRATE_APPLIED)
        fprintf(context->out, "applied %s\n", name);
    else
        fprintf(stderr, "inboxctl: migrate: %s waits for a lock that another session holds\n",
                name);
    fflush(context->out);
}

int ctl_migrate(const struct context *context, int argc, char **argv)
{
    struct context reported = *context;
    int64_t wait_ms = DEFAULT_WAIT_MS;
    const struct option_spec specs[] = {{"wait", OPTION_DURATION, {.number = &wait_ms}}, {0}};
    struct err err = {0};
    struct db *db;
    int words, applied, code;

    if (options_parse("migrate", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage("migrate", "takes no words, but there is \"%s\"", argv[1]);
    db = session_connect(context, true, &code);
    if (!db)
        return code;
    if (migrate_run(db, wait_ms, report, &reported, &applied, &err) < 0) {
        fprintf(stderr, "inboxctl: migrate: %s\n", err.text);
        code = err.kind == ERR_AGAIN ? EXIT_UNREACHABLE : EXIT_FAILED;
    } else if (migrate_check(db, &err) < 0) {
        fprintf(stderr, "inboxctl: migrate: %s\n", err.text);
        code = EXIT_FAILED;
    } else {
        fprintf(context->out, "schema version %d, %d migration%s applied\n",
                migrate_known_version(), applied, applied == 1 ? "" : "s");
    }
    db_free(db);
    return code;
}
