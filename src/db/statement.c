/* The statements of sql/query, and which of them, and of other texts, a session has prepared. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "db/connection.h"

#define QUERIES_MAX 128

/* Built on first use, then only read. */
static struct db_query queries[QUERIES_MAX];
static pthread_once_t queries_once = PTHREAD_ONCE_INIT;

static void list_queries(void)
{
    if (embedded_queries_count > QUERIES_MAX)
        abort();
    for (size_t i = 0; i < embedded_queries_count; i++)
        queries[i] = (struct db_query){embedded_queries[i].name, embedded_queries[i].text, i};
}

const struct db_query *db_query(const char *name)
{
    size_t len = strlen(name);

    pthread_once(&queries_once, list_queries);
    for (size_t i = 0; i < embedded_queries_count; i++)
        if (strncmp(queries[i].name, name, len) == 0 && strcmp(queries[i].name + len, ".sql") == 0)
            return &queries[i];
    fprintf(stderr, "inboxd: there is no statement \"%s\" in sql/query\n", name);
    abort();
}

/* ---- prepared statements ---- */

void db_forget_statements(struct db *db)
{
    for (size_t i = 0; i < embedded_queries_count; i++)
        db->queries[i].prepared = false;
    for (size_t i = 0; i < db->text_count; i++)
        db->texts[i]->prepared = false;
}

struct statement *db_statement_of_query(struct db *db, const struct db_query *query)
{
    return &db->queries[query->number];
}

struct statement *db_statement_of_text(struct db *db, const char *sql)
{
    struct statement *statement;

    for (size_t i = 0; i < db->text_count; i++)
        if (strcmp(db->texts[i]->text, sql) == 0)
            return db->texts[i];
    if (db->text_count == TEXT_STATEMENTS_MAX)
        return NULL;
    statement = mem_alloc(sizeof(*statement));
    statement->text = mem_copy(str_from(sql));
    db->texts[db->text_count++] = statement;
    return statement;
}

void db_name_statement(struct db *db, struct statement *statement)
{
    snprintf(statement->name, sizeof(statement->name), "s%u", ++db->generation);
}
