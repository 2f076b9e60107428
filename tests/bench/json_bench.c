/* How long one scan takes, by kind of body. Usage: bench_json_bench [FILE...]; without files it
 * makes a Stripe-like body of 1.5 KB, compact and indented, a small and a large one, and one that
 * is mostly not ASCII. Prints a line for each: bytes, ns a scan without pointers, ns with four. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/json.h"

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of several short rounds: the machine is shared. */
static double measure(struct str body, const struct json_paths *paths, struct json_value *values)
{
    struct json_scan scan;
    double best = 1e18;

    for (int round = 0; round < 20; round++) {
        int times = (int)(2000000 / (body.len + 100)) + 1;
        double start = now_ns(), took;

        for (int i = 0; i < times; i++)
            if (!json_scan(body, paths, JSON_DEPTH_DEFAULT, &scan, values)) {
                fprintf(stderr, "%s at %zu\n", json_problem_text(scan.problem), scan.offset);
                exit(1);
            }
        took = (now_ns() - start) / times;
        if (took < best)
            best = took;
    }
    return best;
}

static void report(const char *name, struct str body)
{
    static const struct str pointers[] = {
        {"/id", 3}, {"/type", 5}, {"/data/object/id", 15}, {"/created", 8}};
    struct json_paths *paths = json_paths_new(pointers, ARRAY_LEN(pointers), NULL);
    struct json_value values[ARRAY_LEN(pointers)];

    printf("%-24s %8zu bytes %10.0f ns %10.0f ns with pointers\n", name, body.len,
           measure(body, NULL, NULL), measure(body, paths, values));
    json_paths_free(paths);
}

/* A charge with `lines` entries of metadata; `nl` and `in` are the line ends and indents. */
static void stripe_like(struct buf *out, int lines, const char *nl, const char *in)
{
    buf_clear(out);
    buf_printf(out,
               "{%s%s\"id\": \"evt_3NqXYZ2eZvKYlo2C1abcdEFG\",%s%s\"object\": \"event\",%s%s"
               "\"api_version\": \"2023-10-16\",%s%s\"created\": 1697040000,%s%s\"data\": {%s%s%s"
               "\"object\": {%s",
               nl, in, nl, in, nl, in, nl, in, nl, in, nl, in, in, nl);
    buf_printf(out, "%s%s%s\"id\": \"ch_3NqXYZ2eZvKYlo2C0mNoPqRs\",%s", in, in, in, nl);
    for (int i = 0; i < lines; i++)
        buf_printf(out, "%s%s%s\"payment_method_%d\": %s,%s", in, in, in, i,
                   i % 4 == 0   ? "\"pm_1NqXYZ2eZvKYlo2CabcdEFGh\""
                   : i % 4 == 1 ? "null"
                   : i % 4 == 2 ? "129900"
                                : "{\"network\": \"visa\", \"refunds\": [], \"captured\": true}",
                   nl);
    buf_printf(out, "%s%s%s\"status\": \"succeeded\"%s%s%s}%s%s},%s%s\"livemode\": false,%s%s", in,
               in, in, nl, in, in, nl, in, nl, in, nl, in);
    buf_printf(out, "\"pending_webhooks\": 1,%s%s\"type\": \"charge.succeeded\"%s}", nl, in, nl);
}

static void report_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buf body;
    size_t len;

    if (!file) {
        perror(path);
        exit(1);
    }
    buf_init(&body, BUF_NO_CAP);
    do {
        len = fread(buf_reserve(&body, 65536), 1, 65536, file);
        body.len += len;
    } while (len > 0);
    fclose(file);
    report(path, buf_str(&body));
    buf_release(&body);
}

int main(int argc, char **argv)
{
    struct buf body;

    for (int i = 1; i < argc; i++)
        report_file(argv[i]);
    if (argc > 1)
        return 0;
    buf_init(&body, BUF_NO_CAP);
    stripe_like(&body, 2, "", "");
    report("stripe-like, small", buf_str(&body));
    stripe_like(&body, 30, "", "");
    report("stripe-like, compact", buf_str(&body));
    stripe_like(&body, 22, "\n", "  ");
    report("stripe-like, indented", buf_str(&body));
    stripe_like(&body, 400, "", "");
    report("stripe-like, large", buf_str(&body));
    buf_clear(&body);
    buf_put_char(&body, '[');
    for (int i = 0; i < 100; i++)
        buf_printf(&body, "%s\"платёж прошёл успешно, 支払いが完了しました\"", i ? "," : "");
    buf_put_char(&body, ']');
    report("not ASCII", buf_str(&body));
    buf_release(&body);
    return 0;
}
