/* The schema's version: numbered migrations compiled in from sql/NNN_name.sql, applied each in one
 * transaction under an advisory lock, with a short lock_timeout and repetition, so that ingest goes
 * on meanwhile. Each file's first line says
 * "-- min-daemon: N": the oldest daemon, named by the last migration it knows, that still works on
 * the schema afterwards. */
#ifndef DB_MIGRATE_H
#define DB_MIGRATE_H

#include "db/db.h"

/* The last migration that this program knows. */
int migrate_known_version(void);

/* 0 when this program works on the database's schema. ERR_NEVER, with the command that mends it,
 * when the schema is missing, older than this program or too new for it; ERR_AGAIN when the
 * database did not answer. */
int migrate_check(struct db *db, struct err *err) MUST_CHECK;

enum migrate_step { MIGRATE_APPLIED, MIGRATE_WAITING };

/* Applies what is missing. `report` (may be NULL) is told of every step; MIGRATE_WAITING: somebody
 * holds a lock, it is tried again, for at most `patience_ms` in all. *applied counts. Harmless when
 * there is nothing to do, and when two run at once. */
int migrate_run(struct db *db, int64_t patience_ms,
                void (*report)(void *argument, enum migrate_step step, const char *name),
                void *argument, int *applied, struct err *err) MUST_CHECK;

#endif
