/* One bucket for each provider, and for the senders a table of short rows: an address is looked for
 * in the row that its hash chooses, and takes the emptiest bucket there when it is new. The hash is
 * seeded, so that nobody can choose whom they push out. */
#include "ingest/rates.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/address.h"
#include "core/pace.h"

#define ROWS 4096 /* a power of two */
#define ROW_SIZE 8
#define NETWORK_SIZE 8 /* bytes of IPv6 that count */

struct sender {
    uint64_t hash; /* of provider and network; 0: unused */
    struct pace pace;
};

struct rates {
    const struct config *config;
    struct pace *providers;
    struct sender (*senders)[ROW_SIZE]; /* NULL: no provider counts them */
    uint64_t seed;
};

struct rates *rates_new(const struct config *config)
{
    struct rates *rates = mem_alloc(sizeof(*rates));
    bool counts_senders = false;

    rates->config = config;
    rates->providers = mem_alloc((config->provider_count + 1) * sizeof(struct pace));
    for (size_t i = 0; i < config->provider_count; i++)
        counts_senders |= config->providers[i].rate_per_address.count > 0;
    if (counts_senders)
        rates->senders = mem_alloc(ROWS * sizeof(*rates->senders));
    arc4random_buf(&rates->seed, sizeof(rates->seed));
    return rates;
}

void rates_free(struct rates *rates)
{
    if (!rates)
        return;
    free(rates->providers);
    free(rates->senders);
    free(rates);
}

/* The finalizer of SplitMix64: every bit of the input moves every bit of the output. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t word_of(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* IPv4 counts whole, IPv6 by its network of 64 bits, of which one sender has all addresses. */
static uint64_t hash_of(const struct rates *rates, size_t provider, struct str source_ip)
{
    uint64_t hash = mix(rates->seed ^ provider);
    struct address address;

    if (source_ip.ptr && address_read(source_ip, &address)) {
        bool ipv4 = memchr(source_ip.ptr, ':', source_ip.len) == NULL;

        hash = mix(hash ^ word_of(address.bytes));
        if (ipv4)
            hash = mix(hash ^ word_of(address.bytes + NETWORK_SIZE));
    }
    return hash ? hash : 1;
}

/* The bucket of a hash, emptied for it where it is new. */
static struct sender *find_sender(struct rates *rates, uint64_t hash)
{
    struct sender *row = rates->senders[hash & (ROWS - 1)], *least = &row[0];

    for (size_t i = 0; i < ROW_SIZE; i++) {
        if (row[i].hash == hash)
            return &row[i];
        if (row[i].pace.due_us < least->pace.due_us)
            least = &row[i];
    }
    *least = (struct sender){.hash = hash};
    return least;
}

static int64_t in_seconds(int64_t us)
{
    return (us + 999999) / 1000000;
}

int64_t rates_take(struct rates *rates, size_t provider, struct str source_ip, int64_t now_us)
{
    const struct provider_config *config = &rates->config->providers[provider];
    int64_t wait_us = 0;

    if (config->rate_per_address.count > 0) {
        struct sender *sender = find_sender(rates, hash_of(rates, provider, source_ip));

        wait_us = pace_take(&sender->pace, config->rate_per_address.count,
                            config->rate_per_address.period_us, now_us);
    }
    if (wait_us == 0 && config->rate.count > 0)
        wait_us = pace_take(&rates->providers[provider], config->rate.count, config->rate.period_us,
                            now_us);
    return in_seconds(wait_us);
}
