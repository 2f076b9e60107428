/* What the files of src/ingest share of the accepting path: an intake is one request for a
 * provider, from its header to its answer. Loop thread only. */
#ifndef INGEST_INTAKE_H
#define INGEST_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "handshake/handshake.h"
#include "ingest/ingest.h"

/* In the request's arena. */
struct intake {
    struct store_group group; /* its events, as the writer sees them */
    size_t unanswered;        /* of those */
    bool split;
    struct http_request *request;
    struct request view;           /* the same as providers see it */
    struct vault_item capture;     /* of a handshake that hands a secret over */
    struct handshake_reply *reply; /* its answer, once the secret is kept */
    struct ingest *ingest;
    struct snapshot *snapshot; /* a reference */
    size_t provider;           /* index */
    int64_t deadline_us;       /* on the clock of clock_mono_us() */
    bool listed;
    struct intake *prev, *next; /* parked ones, oldest first */
};

struct ingest {
    struct loop *loop;
    struct snapshot *snapshot;
    struct writer *writer;
    struct keeper *keeper;
    struct quarantine *quarantine;
    struct vault *vault;
    struct http_answer *refusals[REFUSAL_COUNT];
    struct http_answer *stored, *duplicate;
    struct intake *first, *last; /* parked */
    struct loop_timer *sweep, *refusals_sweep, *uses_sweep;
    struct ingest_counts counts;
};

/* The header was accepted and the body is complete: answers, now or later (intake.c). */
void intake_take(struct intake *intake);
/* Answers requests that have waited too long for another thread. */
void intake_sweep(struct ingest *ingest);

/* What is said (intake_answers.c). */
void ingest_make_answers(struct ingest *ingest);
void ingest_free_answers(struct ingest *ingest);
/* Counts and logs what somebody else answers. `intake`: NULL where no provider was found. */
void ingest_note_refusal(struct ingest *ingest, const struct intake *intake, enum refusal refusal,
                         struct str source_ip);
/* No provider was found. */
void ingest_refuse_unknown(struct ingest *ingest, struct http_request *request,
                           enum refusal refusal);
void intake_refuse(struct intake *intake, enum refusal refusal);
/* Says which of several events is meant. */
void intake_refuse_element(struct intake *intake, enum refusal refusal, size_t element);
/* Too fast; it may come again after `wait_s` seconds. */
void intake_refuse_rate(struct intake *intake, int64_t wait_s);
/* How many of a request's events had that result. */
size_t intake_count_results(const struct intake *intake, enum store_result result);
/* All events of the request are committed. */
void intake_answer_committed(struct intake *intake);
void intake_answer_handshake(struct intake *intake, const struct handshake_reply *reply);

/* Those of the request's provider. */
const struct handshakes *intake_handshakes(const struct intake *intake);

#endif
