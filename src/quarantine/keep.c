/* One statement for the rows, one more for each of their providers, in order of the providers'
 * names: two daemons that trim the same ones wait for each other and never in a circle. */
#include "quarantine/keep.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"

#define PROVIDERS_MAX                                                                              \
    64 /* trimmed in one transaction; more are trimmed when their next row comes */

struct keep {
    struct db *db;
    struct db_args *args;
};

struct keep *keep_new(struct db *db)
{
    struct keep *keep = mem_alloc(sizeof(*keep));

    keep->db = db;
    keep->args = db_args_new();
    return keep;
}

void keep_free(struct keep *keep)
{
    if (!keep)
        return;
    db_args_free(keep->args);
    free(keep);
}

/* ---- rows ---- */

static struct str provider_of(const struct refused *refused)
{
    return refused->provider;
}

static struct str reason_of(const struct refused *refused)
{
    return refused->reason;
}

static struct str source_ip_of(const struct refused *refused)
{
    return refused->source_ip;
}

static struct str method_of(const struct refused *refused)
{
    return refused->method;
}

static struct str target_of(const struct refused *refused)
{
    return refused->target;
}

static struct str headers_of(const struct refused *refused)
{
    return refused->headers;
}

static struct str head_of(const struct refused *refused)
{
    return refused->head;
}

static struct str salt_of(const struct refused *refused)
{
    return refused->hashes.len > 0
               ? (struct str){(const char *)refused->salt, sizeof(refused->salt)}
               : STR_NONE;
}

static struct str hashes_of(const struct refused *refused)
{
    return refused->hashes.len > 0 ? refused->hashes : STR_NONE;
}

static struct str body_of(const struct refused *refused)
{
    return refused->body;
}

static void put_column(struct db_args *args, enum db_type type, const struct refused *list,
                       struct str (*value)(const struct refused *refused))
{
    db_args_array_begin(args, type);
    for (; list; list = list->next)
        db_args_element(args, value(list));
    db_args_array_end(args);
}

static void put_ages(struct db_args *args, const struct refused *list)
{
    int64_t now = clock_mono_us();

    db_args_array_begin(args, DB_FLOAT8);
    for (; list; list = list->next)
        db_args_element_float8(args, (double)(now - list->at_us) / 1e6);
    db_args_array_end(args);
}

static void put_digests(struct db_args *args, const struct refused *list)
{
    unsigned char digest[32];

    db_args_array_begin(args, DB_BYTEA);
    for (; list; list = list->next) {
        digest_sha256(list->body, digest);
        db_args_element(args, (struct str){(const char *)digest, sizeof(digest)});
    }
    db_args_array_end(args);
}

static void put_sizes(struct db_args *args, const struct refused *list)
{
    db_args_array_begin(args, DB_INT8);
    for (; list; list = list->next)
        db_args_element_int8(args, list->bytes);
    db_args_array_end(args);
}

static void put_firsts(struct db_args *args, const struct refused *list)
{
    db_args_array_begin(args, DB_INT8);
    for (; list; list = list->next) {
        if (list->first)
            db_args_element_int8(args, list->first);
        else
            db_args_element_null(args);
    }
    db_args_array_end(args);
}

/* The parameters of quarantine_put.sql, in its order. */
static void put_rows(struct db_args *args, const struct refused *list)
{
    db_args_clear(args);
    put_column(args, DB_TEXT, list, provider_of);
    put_ages(args, list);
    put_column(args, DB_TEXT, list, reason_of);
    put_column(args, DB_TEXT, list, source_ip_of);
    put_column(args, DB_TEXT, list, method_of);
    put_column(args, DB_TEXT, list, target_of);
    put_column(args, DB_TEXT, list, headers_of);
    put_column(args, DB_BYTEA, list, head_of);
    put_column(args, DB_BYTEA, list, salt_of);
    put_column(args, DB_BYTEA, list, hashes_of);
    put_column(args, DB_BYTEA, list, body_of);
    put_digests(args, list);
    put_sizes(args, list);
    put_firsts(args, list);
}

/* ---- bounds ---- */

static int compare_providers(const void *left, const void *right)
{
    const struct refused *a = *(const struct refused *const *)left;
    const struct refused *b = *(const struct refused *const *)right;

    return str_compare(a->provider, b->provider);
}

/* One row of each provider: the last, whose bounds are the youngest. Returns how many. */
static size_t find_providers(const struct refused *list, const struct refused **found)
{
    size_t count = 0, i;

    for (; list; list = list->next) {
        for (i = 0; i < count && !str_equal(found[i]->provider, list->provider); i++)
            ;
        if (i < PROVIDERS_MAX)
            found[i] = list;
        if (i == count && count < PROVIDERS_MAX)
            count++;
    }
    qsort(found, count, sizeof(struct refused *), compare_providers);
    return count;
}

static int trim(struct keep *keep, const struct refused *of, struct err *err)
{
    db_args_clear(keep->args);
    db_args_text(keep->args, of->provider);
    db_args_int4(keep->args, of->bounds.rows);
    db_args_int8(keep->args, of->bounds.bytes);
    return db_run_text(keep->db, "select inboxd.trim_quarantine($1, $2, $3)", keep->args, NULL,
                       err);
}

static int write_in_transaction(struct keep *keep, const struct refused *list, struct err *err)
{
    const struct refused *providers[PROVIDERS_MAX];
    size_t count = find_providers(list, providers);

    put_rows(keep->args, list);
    if (db_run(keep->db, db_query("quarantine_put"), keep->args, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (trim(keep, providers[i], err) < 0)
            return -1;
    return 0;
}

int keep_write(struct keep *keep, const struct refused *list, struct err *err)
{
    struct db *db = keep->db;

    if (db_exec(db, "BEGIN", err) < 0)
        return -1;
    if (write_in_transaction(keep, list, err) == 0 && db_exec(db, "COMMIT", err) == 0)
        return 0;
    if (db_connected(db) && db_in_transaction(db) && db_exec(db, "ROLLBACK", NULL) < 0)
        db_disconnect(db);
    return -1;
}
