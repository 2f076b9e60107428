/* A short ring of rows under a lock. Each is logged as well, so losing the oldest loses little. */
#include "inbox/confirmations.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

#define RING_SIZE 64

struct note {
    char *provider, *address;
    char *source_ip; /* NULL: not known */
};

struct confirmations {
    pthread_mutex_t lock;
    struct note ring[RING_SIZE];
    size_t first, count;
    uint64_t dropped; /* so far */
};

struct confirmations *confirmations_new(void)
{
    struct confirmations *confirmations = mem_alloc(sizeof(*confirmations));

    pthread_mutex_init(&confirmations->lock, NULL);
    return confirmations;
}

static struct note *nth(struct confirmations *confirmations, size_t n)
{
    return &confirmations->ring[(confirmations->first + n) % RING_SIZE];
}

/* Under the lock. */
static void drop_first(struct confirmations *confirmations)
{
    struct note *note = nth(confirmations, 0);

    free(note->provider);
    free(note->address);
    free(note->source_ip);
    confirmations->first = (confirmations->first + 1) % RING_SIZE;
    confirmations->count--;
    confirmations->dropped++;
}

void confirmations_free(struct confirmations *confirmations)
{
    if (!confirmations)
        return;
    while (confirmations->count > 0)
        drop_first(confirmations);
    pthread_mutex_destroy(&confirmations->lock);
    free(confirmations);
}

void confirmations_add(struct confirmations *confirmations, struct str provider, struct str address,
                       struct str source_ip)
{
    pthread_mutex_lock(&confirmations->lock);
    if (confirmations->count == RING_SIZE)
        drop_first(confirmations);
    *nth(confirmations, confirmations->count++) =
        (struct note){.provider = mem_copy(provider),
                      .address = mem_copy(address),
                      .source_ip = source_ip.ptr ? mem_copy(source_ip) : NULL};
    pthread_mutex_unlock(&confirmations->lock);
}

/* Under the lock: the parameters of confirmation.sql from the first note. */
static void put_args(struct confirmations *confirmations, struct db_args *args)
{
    const struct note *note = nth(confirmations, 0);

    db_args_clear(args);
    db_args_text(args, str_from(note->provider));
    db_args_text(args, str_from(note->address));
    db_args_text(args, note->source_ip ? str_from(note->source_ip) : STR_NONE);
}

int confirmations_write(struct confirmations *confirmations, struct db *db, struct db_args *args,
                        struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&confirmations->lock);
    while (rc == 0 && confirmations->count > 0) {
        uint64_t dropped = confirmations->dropped;

        put_args(confirmations, args);
        pthread_mutex_unlock(&confirmations->lock);
        rc = db_run(db, db_query("confirmation"), args, NULL, err);
        pthread_mutex_lock(&confirmations->lock);
        if (rc == 0 && dropped == confirmations->dropped) /* else it made room already */
            drop_first(confirmations);
    }
    pthread_mutex_unlock(&confirmations->lock);
    return rc;
}
