/* load: posts signed events to a running daemon and measures what it answers. One thread, one
 * epoll, keep-alive connections.
 *
 *   closed loop (default)  every connection posts its next event when the answer to the last has
 * come open loop (--rate R)   events are due at fixed times whatever the daemon does; a latency
 * counts from the time when the event was due, so that a stall is not hidden by the events that it
 * kept from being sent
 *
 * Events are unique (a prefix of random bits and a number) and signed as Stripe signs, unless
 * --unsigned. Prints one JSON object; `sent` and `answered_200` in it count all, the other figures
 * what was answered within the seconds measured. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

/* How long the answers to the last requests are waited for. */
#define LAST_ANSWERS_US 15000000

struct settings {
    const char *host, *path, *secret, *ids_path;
    int port, connections;
    double rate, seconds, warmup;
    int size, duplicates; /* bytes of a body; percent of events sent a second time */
};

struct connection {
    int fd;
    bool busy;
    int64_t due; /* when the event in flight was due, us */
    struct buf out;
    size_t sent;
    char in[4096];
    size_t got;
    char id[48];
};

struct load {
    struct settings settings;
    struct connection *connections;
    int epoll;
    uint64_t prefix, number;
    char last_id[48]; /* of the event before, for duplicates */
    int64_t start, measure_from, end;
    uint64_t scheduled;  /* open loop: events that were due until now */
    uint32_t *latencies; /* us */
    size_t count, room;
    uint64_t statuses[6]; /* by hundreds */
    uint64_t stored, duplicates, errors, reconnects;
    uint64_t answered_200; /* also in the warm-up and after the end; the others are not */
    FILE *ids;
};

static NORETURN void die(const char *what)
{
    fprintf(stderr, "load: %s: %m\n", what);
    exit(1);
}

/* ---- making a request ---- */

static void make_body(struct load *load, struct connection *connection, struct buf *body)
{
    static const char filler[] =
        "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod ";
    bool repeat = load->last_id[0] && (int)(load->number * 61 % 100) < load->settings.duplicates;

    if (repeat)
        memcpy(connection->id, load->last_id, sizeof(connection->id));
    else
        snprintf(connection->id, sizeof(connection->id), "evt_%016llx%09llu",
                 (unsigned long long)load->prefix, (unsigned long long)load->number);
    memcpy(load->last_id, connection->id, sizeof(load->last_id));
    load->number++;
    buf_printf(
        body,
        "{\"id\":\"%s\",\"object\":\"event\",\"api_version\":\"2024-06-20\",\"created\":1735689600,"
        "\"type\":\"invoice.paid\",\"livemode\":false,\"pending_webhooks\":1,\"request\":{\"id\":"
        "null,"
        "\"idempotency_key\":null},\"data\":{\"object\":{\"id\":\"in_%llu\",\"object\":\"invoice\","
        "\"amount_due\":1999,\"amount_paid\":1999,\"currency\":\"eur\",\"attempted\":true,"
        "\"lines\":[",
        connection->id, (unsigned long long)load->number % 1000);
    for (int i = 0; (int)body->len + 130 < load->settings.size; i++)
        buf_printf(
            body,
            "%s{\"id\":\"il_%d\",\"amount\":%d.%02d,\"description\":\"%.50s\",\"quantity\":%d}",
            i ? "," : "", i, i * 17, i % 100, filler + i % 20, i);
    buf_printf(body, "]}}}");
}

static void make_signature(const struct load *load, const struct buf *body, struct buf *header)
{
    unsigned char mac[32];
    unsigned len = sizeof(mac);
    struct buf signed_bytes;
    long long now = (long long)(clock_wall_us() / 1000000);

    buf_init(&signed_bytes, BUF_NO_CAP);
    buf_printf(&signed_bytes, "%lld.", now);
    buf_put(&signed_bytes, body->data, body->len);
    HMAC(EVP_sha256(), load->settings.secret, (int)strlen(load->settings.secret),
         (unsigned char *)signed_bytes.data, signed_bytes.len, mac, &len);
    buf_release(&signed_bytes);
    buf_printf(header, "Stripe-Signature: t=%lld,v1=", now);
    for (unsigned i = 0; i < len; i++)
        buf_printf(header, "%02x", mac[i]);
    buf_printf(header, "\r\n");
}

static void make_request(struct load *load, struct connection *connection)
{
    struct buf body;

    buf_init(&body, BUF_NO_CAP);
    make_body(load, connection, &body);
    buf_clear(&connection->out);
    buf_printf(&connection->out,
               "POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Stripe/1.0\r\nAccept: */*\r\n"
               "Content-Type: application/json; charset=utf-8\r\nContent-Length: %zu\r\n",
               load->settings.path, body.len);
    if (load->settings.secret)
        make_signature(load, &body, &connection->out);
    buf_printf(&connection->out, "\r\n");
    buf_put(&connection->out, body.data, body.len);
    buf_release(&body);
    connection->sent = 0;
    connection->got = 0;
}

/* ---- connections ---- */

static void open_connection(struct load *load, struct connection *connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)load->settings.port)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
    int one = 1;

    inet_pton(AF_INET, load->settings.host, &address.sin_addr);
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die("cannot connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(connection->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event) < 0)
        die("epoll_ctl");
    connection->busy = false;
}

static void lose_connection(struct load *load, struct connection *connection)
{
    if (connection->busy)
        load->errors++;
    close(connection->fd);
    load->reconnects++;
    open_connection(load, connection);
}

static void push(struct load *load, struct connection *connection)
{
    while (connection->sent < connection->out.len) {
        ssize_t n = send(connection->fd, connection->out.data + connection->sent,
                         connection->out.len - connection->sent, MSG_NOSIGNAL);

        if (n < 0) {
            if (errno != EAGAIN)
                lose_connection(load, connection);
            return;
        }
        connection->sent += (size_t)n;
    }
}

static void start_event(struct load *load, struct connection *connection, int64_t due)
{
    make_request(load, connection);
    connection->busy = true;
    connection->due = due;
    push(load, connection);
}

static void note_answer(struct load *load, struct connection *connection, int status,
                        bool duplicate)
{
    int64_t now = clock_mono_us();

    connection->busy = false;
    load->answered_200 += status == 200;
    if (status == 200 && load->ids && !duplicate)
        fprintf(load->ids, "%s\n", connection->id);
    if (now < load->measure_from || now > load->end)
        return;
    load->statuses[status / 100 % 6]++;
    if (status == 200)
        duplicate ? load->duplicates++ : load->stored++;
    if (load->count == load->room) {
        load->room = load->room ? load->room * 2 : 65536;
        load->latencies = mem_resize(load->latencies, load->room * sizeof(*load->latencies));
    }
    load->latencies[load->count++] = (uint32_t)(now - connection->due);
}

/* Reads what has come; true when an answer is whole. */
static bool take_answer(struct load *load, struct connection *connection)
{
    char *end, *length;
    size_t whole;

    while (connection->got < sizeof(connection->in) - 1) {
        ssize_t n = recv(connection->fd, connection->in + connection->got,
                         sizeof(connection->in) - 1 - connection->got, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            lose_connection(load, connection);
            return false;
        }
        if (n < 0)
            break;
        connection->got += (size_t)n;
    }
    connection->in[connection->got] = '\0';
    end = strstr(connection->in, "\r\n\r\n");
    length = strcasestr(connection->in, "\r\ncontent-length:");
    if (!end || !length)
        return false;
    whole = (size_t)(end + 4 - connection->in) + strtoul(length + 17, NULL, 10);
    if (connection->got < whole)
        return false;
    note_answer(load, connection, (int)strtol(connection->in + 9, NULL, 10),
                strncmp(end + 4, "dup", 3) == 0);
    return true;
}

/* ---- the loops ---- */

static int64_t due_time(const struct load *load, uint64_t n)
{
    return load->start + (int64_t)((double)n * 1e6 / load->settings.rate);
}

/* Open loop: starts what is due on connections that are free; returns how many ms to wait. */
static int start_due(struct load *load)
{
    int64_t now = clock_mono_us(), next;

    for (int i = 0; i < load->settings.connections && due_time(load, load->scheduled) <= now; i++)
        if (!load->connections[i].busy)
            start_event(load, &load->connections[i], due_time(load, load->scheduled++));
    next = due_time(load, load->scheduled) - now;
    return next <= 0 ? 1 : (int)(next / 1000);
}

static void run(struct load *load)
{
    struct epoll_event events[256];

    if (load->settings.rate <= 0)
        for (int i = 0; i < load->settings.connections; i++)
            start_event(load, &load->connections[i], clock_mono_us());
    while (clock_mono_us() < load->end) {
        int wait_ms = load->settings.rate > 0 ? start_due(load) : 100;
        int n = epoll_wait(load->epoll, events, ARRAY_LEN(events), wait_ms);

        for (int i = 0; i < n; i++) {
            struct connection *connection = events[i].data.ptr;

            if (events[i].events & EPOLLOUT && connection->busy)
                push(load, connection);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) &&
                take_answer(load, connection) && load->settings.rate <= 0)
                start_event(load, connection, clock_mono_us());
        }
        if (load->settings.rate <= 0 && load->reconnects)
            for (int i = 0; i < load->settings.connections; i++)
                if (!load->connections[i].busy)
                    start_event(load, &load->connections[i], clock_mono_us());
    }
}

static bool any_busy(const struct load *load)
{
    for (int i = 0; i < load->settings.connections; i++)
        if (load->connections[i].busy)
            return true;
    return false;
}

/* Waits for the answers to what is under way: after the end nothing is measured, but counted. */
static void finish(struct load *load)
{
    int64_t until = clock_mono_us() + LAST_ANSWERS_US;

    while (any_busy(load) && clock_mono_us() < until) {
        struct epoll_event events[256];
        int n = epoll_wait(load->epoll, events, ARRAY_LEN(events), 100);

        for (int i = 0; i < n; i++) {
            struct connection *connection = events[i].data.ptr;

            if (events[i].events & EPOLLOUT && connection->busy)
                push(load, connection);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                (void)take_answer(load, connection);
        }
    }
}

/* ---- the sum ---- */

static int compare_latency(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static double percentile_ms(const struct load *load, double share)
{
    if (load->count == 0)
        return 0;
    return load->latencies[(size_t)((double)(load->count - 1) * share)] / 1000.0;
}

static void print_sum(struct load *load)
{
    struct rusage usage;
    double seconds = (double)(load->end - load->measure_from) / 1e6;

    if (load->count)
        qsort(load->latencies, load->count, sizeof(*load->latencies), compare_latency);
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"accepted_per_s\":%.0f,\"stored\":%llu,\"duplicate\":%llu,\"refused_4xx\":%llu,"
           "\"refused_5xx\":%llu,"
           "\"errors\":%llu,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"max_"
           "ms\":%.3f,"
           "\"client_cpu_s\":%.2f,\"sent\":%llu,\"answered_200\":%llu}\n",
           (double)(load->stored + load->duplicates) / seconds, (unsigned long long)load->stored,
           (unsigned long long)load->duplicates, (unsigned long long)load->statuses[4],
           (unsigned long long)load->statuses[5], (unsigned long long)load->errors,
           percentile_ms(load, 0.5), percentile_ms(load, 0.9), percentile_ms(load, 0.99),
           percentile_ms(load, 0.999), percentile_ms(load, 1.0),
           (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
               (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
           (unsigned long long)load->number, (unsigned long long)load->answered_200);
}

static void usage_and_exit(void)
{
    fputs("usage: load --port N [--host 127.0.0.1] [--path /webhooks/s] [--secret TEXT] "
          "[--connections 128]\n"
          "            [--seconds 5] [--warmup 1] [--rate PER_SECOND] [--size 1500] [--duplicates "
          "PERCENT]\n"
          "            [--ids FILE]\n"
          "--secret: sign as Stripe does; --ids: write the ids that were answered 200 ok\n",
          stderr);
    exit(64);
}

static struct settings read_settings(int argc, char **argv)
{
    struct settings s = {.host = "127.0.0.1",
                         .path = "/webhooks/s",
                         .connections = 128,
                         .seconds = 5,
                         .warmup = 1,
                         .size = 1500};
    static const struct option names[] = {
        {"host", 1, 0, 'h'},   {"port", 1, 0, 'p'},        {"path", 1, 0, 'P'},
        {"secret", 1, 0, 's'}, {"connections", 1, 0, 'c'}, {"seconds", 1, 0, 't'},
        {"rate", 1, 0, 'r'},   {"size", 1, 0, 'b'},        {"duplicates", 1, 0, 'd'},
        {"warmup", 1, 0, 'w'}, {"ids", 1, 0, 'i'},         {0, 0, 0, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 'h':
            s.host = optarg;
            break;
        case 'p':
            s.port = (int)strtol(optarg, NULL, 10);
            break;
        case 'P':
            s.path = optarg;
            break;
        case 's':
            s.secret = optarg;
            break;
        case 'c':
            s.connections = (int)strtol(optarg, NULL, 10);
            break;
        case 't':
            s.seconds = strtod(optarg, NULL);
            break;
        case 'r':
            s.rate = strtod(optarg, NULL);
            break;
        case 'b':
            s.size = (int)strtol(optarg, NULL, 10);
            break;
        case 'd':
            s.duplicates = (int)strtol(optarg, NULL, 10);
            break;
        case 'w':
            s.warmup = strtod(optarg, NULL);
            break;
        case 'i':
            s.ids_path = optarg;
            break;
        default:
            usage_and_exit();
        }
    }
    if (s.port <= 0 || s.connections <= 0)
        usage_and_exit();
    return s;
}

int main(int argc, char **argv)
{
    struct load load = {.settings = read_settings(argc, argv)};

    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (load.epoll < 0 || getrandom(&load.prefix, sizeof(load.prefix), 0) != sizeof(load.prefix))
        die("cannot start");
    if (load.settings.ids_path && !(load.ids = fopen(load.settings.ids_path, "w")))
        die(load.settings.ids_path);
    load.connections = mem_alloc((size_t)load.settings.connections * sizeof(*load.connections));
    for (int i = 0; i < load.settings.connections; i++) {
        buf_init(&load.connections[i].out, BUF_NO_CAP);
        open_connection(&load, &load.connections[i]);
    }
    load.start = clock_mono_us();
    load.measure_from = load.start + (int64_t)(load.settings.warmup * 1e6);
    load.end = load.measure_from + (int64_t)(load.settings.seconds * 1e6);
    run(&load);
    finish(&load);
    if (load.ids && fclose(load.ids) != 0)
        die(load.settings.ids_path);
    print_sum(&load);
    return load.errors > 0;
}
