/* What group commit alone does, without HTTP: keeps N events of about 1.5 KB in flight through a
 * writer and prints what was committed a second and the processor time of this process an event.
 * Needs a migrated database.
 *
 *     bench_writer_bench CONNINFO [seconds [in-flight [threads [body-bytes]]]] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "inbox/writer.h"

struct slot {
    struct store_item item;
    char id[48];
    char *body;
};

static struct writer *writer;
static struct loop *loop;
static size_t body_size = 1500;
static int64_t end_us, stored, refused, notified;
static uint64_t number, in_flight;

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static unsigned next_random(void)
{
    static uint32_t state = 2463534242u;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* A body like Stripe's: many short members, incompressible where it matters. */
static void write_body(struct slot *slot)
{
    int len = snprintf(slot->body, body_size, "{\"id\":\"%s\",\"object\":\"event\"", slot->id);

    for (int i = 0; (size_t)len + 80 < body_size; i++)
        len += snprintf(slot->body + len, body_size - (size_t)len,
                        ",\"member_%d\":{\"amount\":%d,\"token\":\"%08x%08x\"}", i,
                        (int)(next_random() % 100000), next_random(), next_random());
    len += snprintf(slot->body + len, body_size - (size_t)len, "}");
    slot->item.event.body = (struct str){slot->body, (size_t)len};
}

static void on_drained(void *argument)
{
    (void)argument;
    loop_stop(loop);
}

static void put(struct slot *slot);

static void on_done(struct store_item *item)
{
    if (item->result == STORE_STORED)
        stored++;
    else
        refused++;
    in_flight--;
    if (clock_mono_us() < end_us)
        put(item->owner);
    else if (in_flight == 0)
        writer_drain(writer, on_drained, NULL);
}

static void put(struct slot *slot)
{
    int len = snprintf(slot->id, sizeof(slot->id), "evt_%d_%" PRIu64, (int)getpid(), ++number);

    slot->item.event.id = (struct str){slot->id, (size_t)len};
    memcpy(slot->body + 7, slot->id, (size_t)len < 20 ? (size_t)len : 20);
    in_flight++;
    if (!writer_put(writer, &slot->item)) {
        slot->item.result = STORE_UNAVAILABLE;
        loop_post(loop, (void (*)(void *))on_done, &slot->item);
    }
}

static void on_stored(void *argument, struct str provider, enum queue queue, int64_t run_at)
{
    (void)argument, (void)provider, (void)queue, (void)run_at;
    __atomic_fetch_add(&notified, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 3, cpu;
    size_t slots = argc > 3 ? strtoul(argv[3], NULL, 10) : 128;
    struct writer_options options = {
        .threads = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 2,
        .queue_max = 100000,
        .queue_max_bytes = 1 << 30,
        .ack_timeout_ms = 5000,
        .stored = on_stored,
    };
    int64_t begun;

    if (argc < 2)
        return 2;
    if (argc > 5)
        body_size = strtoul(argv[5], NULL, 10);
    loop = loop_new();
    options.conninfo = argv[1];
    options.loop = loop;
    writer = writer_new(&options);
    usleep(200000); /* connecting */
    begun = clock_mono_us();
    cpu = cpu_seconds();
    end_us = begun + (int64_t)(seconds * 1e6);
    for (size_t i = 0; i < slots; i++) {
        struct slot *slot = mem_alloc(sizeof(*slot));

        slot->body = mem_alloc(body_size + 1);
        slot->item.owner = slot;
        slot->item.done = on_done;
        slot->item.event = (struct event){
            .provider = STR("stripe"),
            .type = STR("invoice.paid"),
            .headers = STR("{\"content-type\":\"application/json\",\"user-agent\":\"bench\","
                           "\"host\":\"hooks.example.com\",\"content-length\":\"1500\"}"),
            .source_ip = STR("192.0.2.1"),
            .has_payload = true,
            .signature_verified = true,
        };
        snprintf(slot->id, sizeof(slot->id), "evt_000000000000000");
        write_body(slot);
        put(slot);
    }
    loop_run(loop);
    seconds = (double)(clock_mono_us() - begun) / 1e6;
    cpu = cpu_seconds() - cpu;
    printf("%.0f events/s, %.1f us of our cpu an event, %" PRId64
           " refused, %.1f events a commit\n",
           (double)stored / seconds, cpu / (double)stored * 1e6, refused,
           (double)stored / (double)(notified ? notified : 1));
    writer_free(writer);
    loop_free(loop);
    return 0;
}
