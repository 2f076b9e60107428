/* Open addressing over a few slots; a slot of an earlier minute is free. */
#include "quarantine/cap.h"

#include <stdlib.h>

#include "base/mem.h"

#define SLOTS 4096 /* a power of two */
#define PROBES 8
#define MINUTE_US ((int64_t)60 * 1000 * 1000)

struct slot {
    uint64_t source;
    int64_t minute; /* 0: never used */
    uint32_t provider;
    int count;
};

struct cap {
    struct slot slots[SLOTS];
};

struct cap *cap_new(void)
{
    return mem_alloc(sizeof(struct cap));
}

void cap_free(struct cap *cap)
{
    free(cap);
}

/* FNV-1a: the names are the configuration's. */
static uint32_t number_of(struct str name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619u;
    return hash;
}

/* The source's slot, or one that it may have; NULL: all are taken. */
static struct slot *find(struct cap *cap, uint32_t provider, uint64_t source, int64_t minute)
{
    uint64_t at = (source ^ provider) * 0x9e3779b97f4a7c15u >> 40;
    struct slot *free_slot = NULL;

    for (uint64_t i = at; i < at + PROBES; i++) {
        struct slot *slot = &cap->slots[i % SLOTS];

        if (slot->minute != minute) {
            free_slot = free_slot ? free_slot : slot;
            continue;
        }
        if (slot->source == source && slot->provider == provider)
            return slot;
    }
    if (free_slot)
        *free_slot = (struct slot){.source = source, .provider = provider, .minute = minute};
    return free_slot;
}

bool cap_take(struct cap *cap, struct str provider, uint64_t source, int per_minute, int64_t now_us)
{
    struct slot *slot = find(cap, number_of(provider), source, now_us / MINUTE_US + 1);

    if (!slot)
        return true;
    if (slot->count >= per_minute)
        return false;
    slot->count++;
    return true;
}
