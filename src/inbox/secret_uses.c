/* A list of names with counters under a lock. It is as long as the configuration has secrets, and
 * grows only by what reloads bring. */
#include "inbox/secret_uses.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define SEEN_INTERVAL_US (60 * (int64_t)1000000)

struct use {
    char *provider, *reference; /* ours, for as long as the list lives */
    int ordinal, number;
    bool configured;
    int64_t count; /* not written yet */
};

struct secret_uses {
    pthread_mutex_t lock;
    struct use *list;
    size_t count;
    int64_t seen_us; /* when all configured ones were written last; 0: they are due */
};

struct secret_uses *secret_uses_new(void)
{
    struct secret_uses *uses = mem_alloc(sizeof(*uses));

    pthread_mutex_init(&uses->lock, NULL);
    return uses;
}

void secret_uses_free(struct secret_uses *uses)
{
    if (!uses)
        return;
    for (size_t i = 0; i < uses->count; i++) {
        free(uses->list[i].provider);
        free(uses->list[i].reference);
    }
    free(uses->list);
    pthread_mutex_destroy(&uses->lock);
    free(uses);
}

/* Under the lock. The place of a name; made when it is new. */
static struct use *find(struct secret_uses *uses, const struct secret_name *name)
{
    struct use *use;

    for (size_t i = 0; i < uses->count; i++) {
        use = &uses->list[i];
        if (use->ordinal == name->ordinal && str_is(name->provider, use->provider) &&
            str_is(name->reference, use->reference))
            return use;
    }
    uses->list = mem_resize(uses->list, (uses->count + 1) * sizeof(*uses->list));
    use = &uses->list[uses->count++];
    *use = (struct use){.provider = mem_copy(name->provider),
                        .reference = mem_copy(name->reference),
                        .ordinal = name->ordinal,
                        .number = name->number};
    return use;
}

void secret_uses_configure(struct secret_uses *uses, const struct secret_name *names, size_t count)
{
    pthread_mutex_lock(&uses->lock);
    for (size_t i = 0; i < uses->count; i++)
        uses->list[i].configured = false;
    for (size_t i = 0; i < count; i++) {
        struct use *use = find(uses, &names[i]);

        use->configured = true;
        use->number = names[i].number;
    }
    uses->seen_us = 0;
    pthread_mutex_unlock(&uses->lock);
}

void secret_uses_add(struct secret_uses *uses, const struct secret_name *name, int64_t count)
{
    pthread_mutex_lock(&uses->lock);
    find(uses, name)->count += count;
    pthread_mutex_unlock(&uses->lock);
}

/* ---- writing ---- */

/* What is to be written now: indices and counts, which are taken out of the list. */
struct taken {
    size_t *index;
    int64_t *count;
    size_t length;
    bool all;
};

static void take(struct secret_uses *uses, struct taken *taken)
{
    int64_t now = clock_mono_us();

    taken->index = mem_alloc((uses->count + 1) * sizeof(*taken->index));
    taken->count = mem_alloc((uses->count + 1) * sizeof(*taken->count));
    taken->all = uses->seen_us == 0 || now - uses->seen_us > SEEN_INTERVAL_US;
    for (size_t i = 0; i < uses->count; i++) {
        struct use *use = &uses->list[i];

        if (use->count == 0 && !(taken->all && use->configured))
            continue;
        taken->index[taken->length] = i;
        taken->count[taken->length++] = use->count;
        use->count = 0;
    }
    if (taken->all)
        uses->seen_us = now;
}

static void put_back(struct secret_uses *uses, const struct taken *taken)
{
    for (size_t i = 0; i < taken->length; i++)
        uses->list[taken->index[i]].count += taken->count[i];
    if (taken->all)
        uses->seen_us = 0;
}

/* Under the lock, because the list may grow: the parameters of secret_use.sql. */
static void put_args(const struct secret_uses *uses, const struct taken *taken,
                     struct db_args *args)
{
    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < taken->length; i++)
        db_args_element(args, str_from(uses->list[taken->index[i]].provider));
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < taken->length; i++)
        db_args_element(args, str_from(uses->list[taken->index[i]].reference));
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT4);
    for (size_t i = 0; i < taken->length; i++)
        db_args_element_int4(args, uses->list[taken->index[i]].ordinal);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT4);
    for (size_t i = 0; i < taken->length; i++)
        db_args_element_int4(args, uses->list[taken->index[i]].number);
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < taken->length; i++)
        db_args_element_int8(args, taken->count[i]);
    db_args_array_end(args);
}

int secret_uses_write(struct secret_uses *uses, struct db *db, struct db_args *args,
                      struct err *err)
{
    struct taken taken = {0};
    int rc = 0;

    pthread_mutex_lock(&uses->lock);
    take(uses, &taken);
    put_args(uses, &taken, args);
    pthread_mutex_unlock(&uses->lock);
    if (taken.length > 0)
        rc = db_run(db, db_query("secret_use"), args, NULL, err);
    if (rc < 0) {
        pthread_mutex_lock(&uses->lock);
        put_back(uses, &taken);
        pthread_mutex_unlock(&uses->lock);
    }
    free(taken.index);
    free(taken.count);
    return rc;
}
