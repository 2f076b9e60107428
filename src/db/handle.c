/* The handle of a connection: its options, and its end. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "db/connection.h"

static char *copy_text(const char *text)
{
    return text ? mem_copy(str_from(text)) : NULL;
}

struct db *db_new(const struct db_options *options)
{
    struct db *db = mem_alloc(sizeof(*db));

    db->options = *options;
    db->options.conninfo = copy_text(options->conninfo);
    db->options.application_name = copy_text(options->application_name);
    db->options.settings = copy_text(options->settings);
    db->queries = mem_alloc((embedded_queries_count + 1) * sizeof(*db->queries));
    db->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (db->interrupt_fd < 0)
        abort();
    pthread_mutex_init(&db->lock, NULL);
    db->message = copy_text("");
    db->detail = copy_text("");
    db->context = copy_text("");
    return db;
}

void db_free(struct db *db)
{
    if (!db)
        return;
    db_disconnect(db);
    for (size_t i = 0; i < db->text_count; i++) {
        free(db->texts[i]->text);
        free(db->texts[i]);
    }
    free((char *)db->options.conninfo);
    free((char *)db->options.application_name);
    free((char *)db->options.settings);
    free(db->queries);
    free(db->owed);
    free(db->message);
    free(db->detail);
    free(db->context);
    close(db->interrupt_fd);
    pthread_mutex_destroy(&db->lock);
    free(db);
}

void db_disconnect(struct db *db)
{
    pthread_mutex_lock(&db->lock);
    PQfreeCancel(db->cancel);
    db->cancel = NULL;
    pthread_mutex_unlock(&db->lock);
    PQfinish(db->conn);
    db->conn = NULL;
    db->owed_first = db->owed_count = 0;
    db_forget_statements(db);
}

void db_set_timeout(struct db *db, int timeout_ms)
{
    db->timeout_ms = timeout_ms;
}

bool db_connected(const struct db *db)
{
    return db->conn && PQstatus(db->conn) == CONNECTION_OK;
}

bool db_in_transaction(const struct db *db)
{
    return db_connected(db) && PQtransactionStatus(db->conn) != PQTRANS_IDLE;
}
