/* The log: one line per thing that matters, to standard error, as logfmt or JSON. Log once, where
 * the unit of work ends; leaves return errors. Never payload content, never a secret. Thread-safe;
 * a line is one write().
 *
 *     log_event(LOG_WARN, "handler failed, retrying", F_STR("provider", ev->provider),
 * F_NUM("attempt", n));
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
    const char *name; /* NULL ends the list */
    enum { LOG_FIELD_STR, LOG_FIELD_NUM } type;
    struct str text;
    int64_t number;
};

#define F_STR(name, str) ((struct log_field){(name), LOG_FIELD_STR, (str), 0})
#define F_TEXT(name, ctext) ((struct log_field){(name), LOG_FIELD_STR, str_from(ctext), 0})
#define F_NUM(name, num) ((struct log_field){(name), LOG_FIELD_NUM, STR_NONE, (int64_t)(num)})

/* Set at start and on reload. Under systemd (JOURNAL_STREAM set) lines get no time stamp but a
 * "<3>" priority. */
void log_configure(enum log_format format, enum log_level lowest);
bool log_enabled(enum log_level level);

/* `message`: a constant text, the same for every instance of the same thing. Fields that are NULL
 * are left out; long values are cut at 1,024 bytes. */
#define log_event(level, message, ...)                                                             \
    log_write(                                                                                     \
        (level), (message),                                                                        \
        (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){NULL, LOG_FIELD_STR, {NULL, 0}, 0}})
void log_write(enum log_level level, const char *message, const struct log_field *fields);

/* Folds repeats: true when this (message site) may log now; at most one in `interval_us`. `*last`
 * is owned by the site. */
bool log_may_repeat(int64_t *last_us, int64_t interval_us);

#endif
