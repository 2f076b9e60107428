/* A table of provider times reason. A flood of refused requests costs one line in ten seconds and
 * nothing is lost from the sums. */
#include "ingest/refusals.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define FOLD_US 10000000

struct folded {
    int64_t said_us;             /* when the last line was written; 0: never */
    int64_t count;               /* since then */
    struct refusal_size largest; /* since then, where any was noted; bytes 0: none */
};

struct refusals {
    const struct config *config;
    struct folded *table; /* (providers + 1) * REFUSAL_COUNT; the last row: no provider */
};

struct refusals *refusals_new(const struct config *config)
{
    struct refusals *refusals = mem_alloc(sizeof(*refusals));

    refusals->config = config;
    refusals->table =
        mem_alloc((config->provider_count + 1) * REFUSAL_COUNT * sizeof(struct folded));
    return refusals;
}

static void say(struct refusals *refusals, size_t row, size_t reason, struct str source_ip)
{
    struct folded *folded = &refusals->table[row * REFUSAL_COUNT + reason];
    struct str name =
        row < refusals->config->provider_count ? refusals->config->providers[row].name : STR_NONE;

    if (folded->largest.bytes > 0)
        log_event(LOG_WARN, "refused requests", F_STR("provider", name),
                  F_TEXT("reason", refusal_info((enum refusal)reason)->text),
                  F_NUM("count", folded->count), F_NUM("largest", folded->largest.bytes),
                  F_NUM("max_body", folded->largest.limit), F_STR("last_from", source_ip));
    else
        log_event(LOG_WARN, "refused requests", F_STR("provider", name),
                  F_TEXT("reason", refusal_info((enum refusal)reason)->text),
                  F_NUM("count", folded->count), F_STR("last_from", source_ip));
    folded->count = 0;
    folded->largest = (struct refusal_size){0};
    folded->said_us = clock_mono_us();
}

void refusals_note(struct refusals *refusals, ptrdiff_t provider, enum refusal refusal,
                   const struct refusal_size *size, struct str source_ip)
{
    size_t row = provider < 0 ? refusals->config->provider_count : (size_t)provider;
    struct folded *folded = &refusals->table[row * REFUSAL_COUNT + refusal];

    folded->count++;
    if (size && size->bytes > folded->largest.bytes)
        folded->largest = *size;
    if (folded->said_us == 0 || clock_mono_us() - folded->said_us >= FOLD_US)
        say(refusals, row, refusal, source_ip);
}

static void say_all(struct refusals *refusals, int64_t before_us)
{
    for (size_t row = 0; row <= refusals->config->provider_count; row++)
        for (size_t reason = 0; reason < REFUSAL_COUNT; reason++) {
            const struct folded *folded = &refusals->table[row * REFUSAL_COUNT + reason];

            if (folded->count > 0 && folded->said_us <= before_us)
                say(refusals, row, reason, STR_NONE);
        }
}

void refusals_sweep(struct refusals *refusals)
{
    say_all(refusals, clock_mono_us() - FOLD_US);
}

void refusals_free(struct refusals *refusals)
{
    if (!refusals)
        return;
    say_all(refusals, INT64_MAX);
    free(refusals->table);
    free(refusals);
}
