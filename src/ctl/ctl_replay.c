/* inboxctl replay: one by one by id, or whatever fits some options. The database's functions do it
 * and record who. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/replay.h"
#include "ctl/session.h"

/* "500/s", or the number alone. */
static int read_rate(const char *text, int64_t *rate)
{
    char number[20];
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits >= sizeof(number) ||
        (text[digits] != '\0' && strcmp(text + digits, "/s") != 0))
        return -1;
    memcpy(number, text, digits);
    number[digits] = '\0';
    return options_number(number, rate) == 0 && *rate > 0 && *rate <= 1000000 ? 0 : -1;
}

/* Reads the ids; 0, or the exit code of a wrong command line. */
static int read_words(const struct replay_where *where, bool dead, bool by_predicate, int words,
                      char **argv, int64_t *ids)
{
    if (words > 0 && (by_predicate || dead || where->status || where->limit >= 0))
        return command_usage("replay", "takes ids, or options that say which; not both");
    if (words == 0 && !by_predicate)
        return command_usage("replay", "wants the ids of events, or at least one of --provider "
                                       "--type --since --until --received-since "
                                       "--received-until --error --error-regex, so that nobody "
                                       "replays everything by mistake");
    if (dead && where->status && strcmp(where->status, "dead") != 0)
        return command_usage("replay", "--dead and --status %s do not go together", where->status);
    for (int i = 0; i < words; i++)
        if (options_number(argv[1 + i], &ids[i]) < 0)
            return command_usage("replay", "an id is a whole number, not \"%s\"", argv[1 + i]);
    return 0;
}

int ctl_replay(const struct context *context, int argc, char **argv)
{
    struct replay_where where = {.limit = -1};
    const char *rate = NULL;
    bool dead = false, by_predicate;
    const struct option_spec specs[] = {
        {"dead", OPTION_FLAG, {.flag = &dead}},
        {"provider", OPTION_TEXT, {.text = &where.provider}},
        {"type", OPTION_TEXT, {.text = &where.type}},
        {"status", OPTION_TEXT, {.text = &where.status}},
        {"since", OPTION_TEXT, {.text = &where.since}},
        {"until", OPTION_TEXT, {.text = &where.until}},
        {"received-since", OPTION_TEXT, {.text = &where.received_since}},
        {"received-until", OPTION_TEXT, {.text = &where.received_until}},
        {"error", OPTION_TEXT, {.text = &where.error}},
        {"error-regex", OPTION_TEXT, {.text = &where.error_regex}},
        {"limit", OPTION_COUNT, {.number = &where.limit}},
        {"rate", OPTION_TEXT, {.text = &rate}},
        {"why", OPTION_TEXT, {.text = &where.why}},
        {"dry-run", OPTION_FLAG, {.flag = &where.dry_run}},
        {0}};
    int64_t *ids CLEANUP(mem_free_pointer) = mem_alloc((size_t)argc * sizeof(*ids));
    struct db *db;
    int words, code;

    if (options_parse("replay", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    by_predicate = where.provider || where.type || where.since || where.until ||
                   where.received_since || where.received_until || where.error || where.error_regex;
    code = read_words(&where, dead, by_predicate, words, argv, ids);
    if (code)
        return code;
    if (rate && read_rate(rate, &where.rate) < 0)
        return command_usage("replay", "--rate wants events a second, such as 50/s, not \"%s\"",
                             rate);
    db = session_connect(context, false, &code);
    if (!db)
        return code;
    code = by_predicate ? replay_where(db, &where, context)
                        : replay_ids(db, ids, (size_t)words, &where, context);
    db_free(db);
    return code;
}
