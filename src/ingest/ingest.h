/* POST /webhooks/PROVIDER: from a request to a stored event and its answer. The only place that
 * sees both HTTP and the inbox. Loop thread only. */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include <stdint.h>

#include "http/server.h"
#include "inbox/keeper.h"
#include "inbox/writer.h"
#include "ingest/snapshot.h"
#include "loop/loop.h"
#include "quarantine/quarantine.h"

struct ingest;

/* What was answered since the start. */
struct ingest_counts {
    int64_t stored, duplicate; /* 200 */
    int64_t handshakes;        /* answered well */
    int64_t refused;           /* 4xx */
    int64_t unavailable;       /* 503 */
};

/* Takes a reference to the snapshot. */
struct ingest *ingest_new(struct loop *loop, struct snapshot *snapshot);
/* After the server; takes NULL. */
void ingest_free(struct ingest *ingest);

/* Fills in what the server asks of its handler: handler, argument and the answers. */
void ingest_serve(struct ingest *ingest, struct http_server_options *options);

/* Where events and the numbers of refused ones go. Until then every event is answered "try again".
 * Borrowed. */
void ingest_set_inbox(struct ingest *ingest, struct writer *writer, struct keeper *keeper);

/* Where refused requests are kept. Until then they are forgotten. Borrowed. */
void ingest_set_quarantine(struct ingest *ingest, struct quarantine *quarantine);
/* Where secrets go that handshakes hand over; NULL: nowhere, as in the beginning. Borrowed. */
void ingest_set_vault(struct ingest *ingest, struct vault *vault);

/* Requests from now on see the new snapshot. */
void ingest_reload(struct ingest *ingest, struct snapshot *snapshot);

/* Hands to the keeper what was counted since the last time; else it happens every few seconds. */
void ingest_flush(struct ingest *ingest);

struct ingest_counts ingest_counts(const struct ingest *ingest);

#endif
