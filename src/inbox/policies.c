/* A copy of what was configured, and whether it is in the database already. */
#include "inbox/policies.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

struct policies {
    pthread_mutex_t lock; /* guards what follows */
    struct arena *arena;  /* of the texts */
    struct policy *list;
    size_t count;
    bool written;
};

struct policies *policies_new(void)
{
    struct policies *policies = mem_alloc(sizeof(*policies));

    pthread_mutex_init(&policies->lock, NULL);
    policies->arena = arena_new(1024);
    policies->written = true;
    return policies;
}

void policies_free(struct policies *policies)
{
    if (!policies)
        return;
    arena_free(policies->arena);
    pthread_mutex_destroy(&policies->lock);
    free(policies);
}

void policies_configure(struct policies *policies, const struct policy *list, size_t count)
{
    pthread_mutex_lock(&policies->lock);
    arena_free(policies->arena);
    policies->arena = arena_new(1024);
    policies->count = count;
    policies->list = arena_alloc(policies->arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        policies->list[i] = list[i];
        policies->list[i].provider = arena_copy(policies->arena, list[i].provider);
        policies->list[i].order = arena_copy(policies->arena, list[i].order);
    }
    policies->written = false;
    pthread_mutex_unlock(&policies->lock);
}

static int64_t base_of(const struct policy *policy)
{
    return policy->backoff.kind == BACKOFF_EXPONENTIAL ? policy->backoff.base_ms : 0;
}

static int64_t cap_of(const struct policy *policy)
{
    return policy->backoff.kind == BACKOFF_EXPONENTIAL ? policy->backoff.cap_ms : 0;
}

static int64_t defer_of(const struct policy *policy)
{
    return policy->defer_ms;
}

static int64_t defer_limit_of(const struct policy *policy)
{
    return policy->defer_limit_ms;
}

static int64_t timeout_of(const struct policy *policy)
{
    return policy->timeout_ms;
}

static size_t steps_of(const struct policy *policy)
{
    return policy->backoff.kind == BACKOFF_LIST ? policy->backoff.step_count : 0;
}

static void put_numbers(const struct policies *policies, int64_t (*of)(const struct policy *),
                        struct db_args *args)
{
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element_int8(args, of(&policies->list[i]));
    db_args_array_end(args);
}

static void put_texts(const struct policies *policies, struct db_args *args)
{
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element(args, policies->list[i].provider);
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element(args, str_from(work_class_name(policies->list[i].class)));
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element(args, policies->list[i].order);
    db_args_array_end(args);
}

/* How many steps each list has, then all of them. */
static void put_steps(const struct policies *policies, struct db_args *args)
{
    db_args_array_begin(args, DB_INT4);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element_int4(args, (int32_t)steps_of(&policies->list[i]));
    db_args_array_end(args);
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < policies->count; i++)
        for (size_t s = 0; s < steps_of(&policies->list[i]); s++)
            db_args_element_int8(args, policies->list[i].backoff.steps_ms[s]);
    db_args_array_end(args);
}

/* The parameters of policy_put.sql. */
static void put(const struct policies *policies, struct db_args *args)
{
    db_args_clear(args);
    put_texts(policies, args);
    db_args_array_begin(args, DB_INT4);
    for (size_t i = 0; i < policies->count; i++)
        db_args_element_int4(args, policies->list[i].attempts);
    db_args_array_end(args);
    put_numbers(policies, base_of, args);
    put_numbers(policies, cap_of, args);
    put_steps(policies, args);
    put_numbers(policies, defer_of, args);
    put_numbers(policies, defer_limit_of, args);
    put_numbers(policies, timeout_of, args);
}

int policies_write(struct policies *policies, struct db *db, struct db_args *args, struct err *err)
{
    bool written;

    pthread_mutex_lock(&policies->lock);
    written = policies->written;
    policies->written = true;
    if (!written)
        put(policies, args);
    pthread_mutex_unlock(&policies->lock);
    if (written)
        return 0;
    if (db_run(db, db_query("policy_put"), args, NULL, err) == 0)
        return 0;
    pthread_mutex_lock(&policies->lock);
    policies->written = false;
    pthread_mutex_unlock(&policies->lock);
    return -1;
}
