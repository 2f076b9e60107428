/* A list that only grows: providers of the configuration times reasons that were met. */
#include "inbox/refusal_counts.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct count {
    char *provider;
    enum refusal refusal;
    int64_t requests;                        /* not written yet; the rest is of these */
    int64_t last_bytes, last_limit, largest; /* 0: not known */
};

struct refusal_counts {
    pthread_mutex_t lock;
    struct count *list;
    size_t size;
};

struct refusal_counts *refusal_counts_new(void)
{
    struct refusal_counts *counts = mem_alloc(sizeof(*counts));

    pthread_mutex_init(&counts->lock, NULL);
    return counts;
}

void refusal_counts_free(struct refusal_counts *counts)
{
    if (!counts)
        return;
    for (size_t i = 0; i < counts->size; i++)
        free(counts->list[i].provider);
    free(counts->list);
    pthread_mutex_destroy(&counts->lock);
    free(counts);
}

/* Under the lock. */
static struct count *find(struct refusal_counts *counts, struct str provider, enum refusal refusal)
{
    for (size_t i = 0; i < counts->size; i++)
        if (counts->list[i].refusal == refusal && str_is(provider, counts->list[i].provider))
            return &counts->list[i];
    counts->list = mem_resize(counts->list, (counts->size + 1) * sizeof(*counts->list));
    counts->list[counts->size] = (struct count){.provider = mem_copy(provider), .refusal = refusal};
    return &counts->list[counts->size++];
}

void refusal_counts_add(struct refusal_counts *counts, struct str provider, enum refusal refusal,
                        const struct refusal_size *size)
{
    struct count *count;

    pthread_mutex_lock(&counts->lock);
    count = find(counts, provider, refusal);
    count->requests++;
    if (size) {
        count->last_bytes = size->bytes;
        count->last_limit = size->limit;
        count->largest = size->bytes > count->largest ? size->bytes : count->largest;
    }
    pthread_mutex_unlock(&counts->lock);
}

/* Takes the counts out; the names stay the list's, which never frees them before its end. */
static size_t take(struct refusal_counts *counts, struct count **taken)
{
    size_t n = 0;

    pthread_mutex_lock(&counts->lock);
    *taken = mem_alloc((counts->size + 1) * sizeof(**taken));
    for (size_t i = 0; i < counts->size; i++) {
        struct count *count = &counts->list[i];

        if (count->requests == 0)
            continue;
        (*taken)[n++] = *count;
        *count = (struct count){.provider = count->provider, .refusal = count->refusal};
    }
    pthread_mutex_unlock(&counts->lock);
    return n;
}

/* What was counted meanwhile is younger. */
static void put_back(struct refusal_counts *counts, const struct count *taken, size_t n)
{
    pthread_mutex_lock(&counts->lock);
    for (size_t i = 0; i < n; i++) {
        struct count *count = find(counts, str_from(taken[i].provider), taken[i].refusal);

        count->requests += taken[i].requests;
        if (count->last_bytes == 0) {
            count->last_bytes = taken[i].last_bytes;
            count->last_limit = taken[i].last_limit;
        }
        count->largest = taken[i].largest > count->largest ? taken[i].largest : count->largest;
    }
    pthread_mutex_unlock(&counts->lock);
}

enum column { REQUESTS, LAST_BYTES, LAST_LIMIT, LARGEST, COLUMNS };

static int64_t value_of(const struct count *count, enum column column)
{
    const int64_t values[COLUMNS] = {[REQUESTS] = count->requests,
                                     [LAST_BYTES] = count->last_bytes,
                                     [LAST_LIMIT] = count->last_limit,
                                     [LARGEST] = count->largest};

    return values[column];
}

/* The parameters of refusal.sql. */
static void put_args(struct db_args *args, const struct count *counts, size_t n)
{
    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, str_from(counts[i].provider));
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, str_from(refusal_info(counts[i].refusal)->text));
    db_args_array_end(args);
    for (int column = 0; column < COLUMNS; column++) {
        db_args_array_begin(args, DB_INT8);
        for (size_t i = 0; i < n; i++)
            db_args_element_int8(args, value_of(&counts[i], (enum column)column));
        db_args_array_end(args);
    }
}

int refusal_counts_write(struct refusal_counts *counts, struct db *db, struct db_args *args,
                         struct err *err)
{
    struct count *taken;
    size_t n = take(counts, &taken);
    int rc = 0;

    if (n > 0) {
        put_args(args, taken, n);
        rc = db_run(db, db_query("refusal"), args, NULL, err);
    }
    if (rc < 0)
        put_back(counts, taken, n);
    free(taken);
    return rc;
}
