/* Feeds a writer from standard input, for tests that want more than HTTP lets through: refused
 * documents, ordering keys, small queues.
 *
 *     helper_writer_feed CONNINFO [threads [ack-timeout-ms [queue-max]]]
 *
 * Lines with fields separated by tabs:  put PROVIDER ID KEY HEADERS BODY    (KEY "-": no order)
 *                                       abandon ID
 *                                       group COUNT     (the next COUNT lines "put" are stored all
 * or none) Answers, one line each:               ID stored|duplicate|unavailable|full The end of
 * the input drains. */
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "inbox/writer.h"

/* Events of a group, until all are answered. */
struct gathering {
    struct store_group group;
    size_t filled, left;
};

struct fed {
    struct store_item own, *item; /* the own one, or one of a group */
    struct gathering *gathering;  /* NULL: alone */
    char *line;
    struct fed *next;
};

static struct loop *loop;
static struct writer *writer;
static struct fed *waiting; /* what the writer has; the loop's */
static struct gathering *open_group;

static void say(const struct fed *fed, const char *result)
{
    printf("%.*s %s\n", STR_ARG(fed->item->event.id), result);
    fflush(stdout);
}

static void forget(struct fed *fed)
{
    struct fed **place = &waiting;

    while (*place && *place != fed)
        place = &(*place)->next;
    if (*place)
        *place = fed->next;
    if (fed->gathering && --fed->gathering->left == 0) {
        free(fed->gathering->group.items);
        free(fed->gathering);
    }
    free(fed->line);
    free(fed);
}

static void on_done(struct store_item *item)
{
    static const char *const names[] = {[STORE_STORED] = "stored",
                                        [STORE_DUPLICATE] = "duplicate",
                                        [STORE_UNAVAILABLE] = "unavailable"};

    say(item->owner, names[item->result]);
    forget(item->owner);
}

/* The next field of a line; the text after it stays in *rest. */
static struct str field(char **rest)
{
    char *start = strsep(rest, "\t");

    return str_from(start ? start : "");
}

/* The next place in the group that is being filled. */
static void join_group(struct fed *fed)
{
    fed->gathering = open_group;
    fed->item = &open_group->group.items[open_group->filled++];
    fed->item->group = &open_group->group;
}

static void put_group(struct gathering *gathering)
{
    size_t count = gathering->group.count;

    if (writer_put_group(writer, &gathering->group))
        return;
    for (size_t i = 0; i < count; i++) {
        struct fed *fed = gathering->group.items[i].owner;

        say(fed, "full");
        forget(fed);
    }
}

static void begin_group(struct str count)
{
    open_group = mem_alloc(sizeof(*open_group));
    open_group->group.count = open_group->left = strtoul(count.ptr, NULL, 10);
    open_group->group.items = mem_alloc(open_group->group.count * sizeof(struct store_item));
}

static void put(struct fed *fed, char *rest)
{
    struct gathering *gathering = open_group;
    struct event *event;

    fed->item = &fed->own;
    if (gathering)
        join_group(fed);
    event = &fed->item->event;
    event->provider = field(&rest);
    event->id = field(&rest);
    event->key = field(&rest);
    event->ordered = !str_is(event->key, "-");
    if (!event->ordered)
        event->key = STR_NONE;
    event->headers = field(&rest);
    event->body = str_from(rest ? rest : "");
    event->has_payload = true;
    SHA256((const unsigned char *)event->body.ptr, event->body.len, event->body_sha256);
    fed->item->owner = fed;
    fed->item->done = on_done;
    fed->next = waiting;
    waiting = fed;
    if (gathering && gathering->filled < gathering->group.count)
        return;
    open_group = NULL;
    if (gathering) {
        put_group(gathering);
        return;
    }
    if (writer_put(writer, fed->item))
        return;
    say(fed, "full");
    forget(fed);
}

static void abandon(struct str id)
{
    for (struct fed *fed = waiting; fed; fed = fed->next)
        if (str_equal(fed->item->event.id, id))
            __atomic_store_n(fed->gathering ? &fed->gathering->group.abandoned
                                            : &fed->item->abandoned,
                             true, __ATOMIC_RELEASE);
}

static void on_line(void *argument)
{
    struct fed *fed = argument;
    char *rest = fed->line;
    struct str command = field(&rest);

    if (str_is(command, "put")) {
        put(fed, rest);
        return;
    }
    if (str_is(command, "abandon"))
        abandon(field(&rest));
    if (str_is(command, "group"))
        begin_group(field(&rest));
    free(fed->line);
    free(fed);
}

static void on_ended(void *argument)
{
    (void)argument;
    loop_stop(loop);
}

static void on_end_of_input(void *argument)
{
    (void)argument;
    writer_drain(writer, on_ended, NULL);
}

static void *read_lines(void *argument)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;

    (void)argument;
    while ((len = getline(&line, &size, stdin)) > 0) {
        struct fed *fed = mem_alloc(sizeof(*fed));

        fed->line = mem_copy((struct str){line, (size_t)(line[len - 1] == '\n' ? len - 1 : len)});
        loop_post(loop, on_line, fed);
    }
    free(line);
    loop_post(loop, on_end_of_input, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    struct writer_options options = {
        .threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2,
        .ack_timeout_ms = argc > 3 ? strtol(argv[3], NULL, 10) : 5000,
        .queue_max = argc > 4 ? strtol(argv[4], NULL, 10) : 100000,
        .queue_max_bytes = 1 << 30,
    };
    pthread_t reader;

    if (argc < 2)
        return 2;
    loop = loop_new();
    options.conninfo = argv[1];
    options.loop = loop;
    writer = writer_new(&options);
    if (pthread_create(&reader, NULL, read_lines, NULL) != 0)
        return 1;
    loop_run(loop);
    pthread_join(reader, NULL);
    writer_free(writer);
    loop_free(loop);
    return 0;
}
