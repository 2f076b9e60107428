/* How many events a second one core verifies and reads, without HTTP and without a database: a
 * signed Stripe-like body of 1.5 KB through provider_read(), with the headers that a proxy passes
 * on. Then the parts of it by themselves, so that a slower one shows. Usage: bench_verify_bench.
 * Prints a line for each: ns a request, requests a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/digest.h"
#include "provider/headers.h"
#include "provider/provider.h"

#define ROUNDS 15
#define TIMES 20000
#define NOW_US 1700000000000000

static const char config_text[] = "[inboxd]\n"
                                  "database = dbname=none\n"
                                  "[provider stripe]\n"
                                  "verify = stripe\n"
                                  "secret = text:whsec_test_secret_of_the_benchmark\n"
                                  "key = body:/data/object/id\n"
                                  "on = ignore\n";

struct subject {
    struct provider *provider;
    struct request request;
    struct buf scratch;
};

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of several short rounds: the machine is shared. */
static void measure(const char *name, void (*once)(struct subject *subject),
                    struct subject *subject)
{
    double best = 1e18;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns(), took;

        for (int i = 0; i < TIMES; i++)
            once(subject);
        took = (now_ns() - start) / TIMES;
        if (took < best)
            best = took;
    }
    printf("%-24s %8.0f ns %10.0f/s\n", name, best, 1e9 / best);
}

static void stripe_body(struct buf *out)
{
    buf_printf(out, "{\n  \"id\": \"evt_3NqXYZ2eZvKYlo2C1abcdEFG\",\n  \"object\": \"event\",\n"
                    "  \"api_version\": \"2023-10-16\",\n  \"created\": 1700000000,\n"
                    "  \"data\": {\n    \"object\": {\n"
                    "      \"id\": \"ch_3NqXYZ2eZvKYlo2C0mNoPqRs\",\n");
    for (int i = 0; i < 24; i++)
        buf_printf(out, "      \"payment_method_%d\": %s,\n", i,
                   i % 3 == 0   ? "\"pm_1NqXYZ2eZvKYlo2CabcdEFGh\""
                   : i % 3 == 1 ? "null"
                                : "129900");
    while (out->len < 1400)
        buf_printf(out, "      \"description_%zu\": \"Subscription update\",\n", out->len);
    buf_printf(out, "      \"status\": \"succeeded\"\n    }\n  },\n  \"livemode\": false,\n"
                    "  \"type\": \"charge.succeeded\"\n}");
}

static void read_all(struct subject *subject)
{
    struct arena *arena = arena_new(4096);
    struct provider_events events;

    if (provider_read(subject->provider, &subject->request, arena, &events) != REFUSAL_NONE)
        abort();
    arena_free(arena);
}

static void only_verify(struct subject *subject)
{
    bool verified;

    if (provider_verify(subject->provider, &subject->request, &verified) != REFUSAL_NONE)
        abort();
}

static void only_parse(struct subject *subject)
{
    struct arena *arena = arena_new(4096);
    struct provider_events events;

    if (provider_parse(subject->provider, &subject->request, true, arena, &events) != REFUSAL_NONE)
        abort();
    arena_free(arena);
}

static void only_digest(struct subject *subject)
{
    unsigned char sha256[32];

    digest_sha256(subject->request.body, sha256);
}

static void only_headers(struct subject *subject)
{
    buf_clear(&subject->scratch);
    headers_put_json(&subject->request, NULL, NULL, &subject->scratch);
}

int main(void)
{
    struct header headers[16] = {
        {STR("Host"), STR("hooks.example.com")},
        {STR("User-Agent"), STR("Stripe/1.0 (+https://stripe.com/docs/webhooks)")},
        {STR("Accept"), STR("*/*; q=0.5, application/xml")},
        {STR("Cache-Control"), STR("no-cache")},
        {STR("Content-Type"), STR("application/json; charset=utf-8")},
        {STR("Content-Length"), STR("1536")},
        {STR("X-Forwarded-For"), STR("192.0.2.7")},
        {STR("X-Forwarded-Proto"), STR("https")},
        {STR("Connection"), STR("keep-alive")},
    };
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("bench.conf", str_from(config_text), mistakes);
    struct arena *arena = arena_new(4096);
    struct subject subject = {0};
    size_t count = 9, signatures = 0;
    struct buf body;
    struct err err;

    if (!config)
        return 1;
    buf_init(&body, BUF_NO_CAP);
    buf_init(&subject.scratch, BUF_NO_CAP);
    stripe_body(&body);
    subject.provider = provider_new(&config->providers[0], mistakes);
    subject.request = (struct request){.method = STR("POST"),
                                       .target = STR("/webhooks/stripe"),
                                       .headers = headers,
                                       .header_count = count,
                                       .body = buf_str(&body),
                                       .source_ip = STR("192.0.2.7"),
                                       .received_us = NOW_US};
    if (!subject.provider || provider_sign(subject.provider, &subject.request, 0, false, arena,
                                           headers + count, 16 - count, &signatures, &err) < 0)
        return 1;
    subject.request.header_count = count + signatures;
    printf("%zu bytes, %zu headers\n", body.len, subject.request.header_count);
    measure("provider_read", read_all, &subject);
    measure("provider_verify", only_verify, &subject);
    measure("provider_parse", only_parse, &subject);
    measure("digest_sha256", only_digest, &subject);
    measure("headers_put_json", only_headers, &subject);
    provider_free(subject.provider);
    buf_release(&subject.scratch);
    buf_release(&body);
    arena_free(arena);
    config_unref(config);
    mistakes_free(mistakes);
    return 0;
}
