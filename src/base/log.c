/* Log lines are built in one buffer and written by one write(), so lines of several threads never
 * mix. */
#include "base/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

#define LONGEST_VALUE 1024

static atomic_int current_format = LOG_LOGFMT;
static atomic_int lowest_level = LOG_INFO;

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
/* sd-daemon(3) priorities. */
static const char *const journal_prefixes[] = {
    [LOG_DEBUG] = "<7>", [LOG_INFO] = "<6>", [LOG_WARN] = "<4>", [LOG_ERROR] = "<3>"};

void log_configure(enum log_format format, enum log_level lowest)
{
    atomic_store(&current_format, format);
    atomic_store(&lowest_level, lowest);
}

bool log_enabled(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&lowest_level, memory_order_relaxed);
}

static bool needs_quotes(struct str s)
{
    if (s.len == 0)
        return true;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
            return true;
    }
    return false;
}

static void put_value(struct buf *line, enum log_format format, struct str value)
{
    value = utf8_cut(value, LONGEST_VALUE);
    if (format == LOG_JSON || needs_quotes(value))
        buf_put_json_string(line, value);
    else
        buf_put_str(line, value);
}

static void put_name(struct buf *line, enum log_format format, const char *name)
{
    if (format == LOG_JSON)
        buf_printf(line, "%s\"%s\":", line->data[line->len - 1] == '{' ? "" : ",", name);
    else
        buf_printf(line, "%s%s=", line->len && line->data[line->len - 1] != '>' ? " " : "", name);
}

static void put_pair(struct buf *line, enum log_format format, const char *name, struct str value)
{
    put_name(line, format, name);
    put_value(line, format, value);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    enum log_format format = (enum log_format)atomic_load(&current_format);
    bool journal = getenv("JOURNAL_STREAM") != NULL; /* NOLINT(concurrency-mt-unsafe) */
    char now[CLOCK_TEXT_SIZE];
    struct buf line;

    if (!log_enabled(level))
        return;
    buf_init(&line, BUF_NO_CAP);
    if (journal)
        buf_put_str(&line, str_from(journal_prefixes[level]));
    if (format == LOG_JSON)
        buf_put_char(&line, '{');
    if (!journal) {
        clock_format(clock_wall_us(), now);
        put_pair(&line, format, "ts", str_from(now));
    }
    put_pair(&line, format, "level", str_from(level_names[level]));
    put_pair(&line, format, "msg", str_from(message));
    for (; fields->name; fields++) {
        if (fields->type == LOG_FIELD_NUM) {
            put_name(&line, format, fields->name);
            buf_printf(&line, "%lld", (long long)fields->number);
        } else if (fields->text.ptr) {
            put_pair(&line, format, fields->name, fields->text);
        }
    }
    buf_put_str(&line, format == LOG_JSON ? STR("}\n") : STR("\n"));
    /* A log that cannot be written must not stop the daemon. */
    (void)!write(STDERR_FILENO, line.data, line.len);
    buf_release(&line);
}

bool log_may_repeat(int64_t *last_us, int64_t interval_us)
{
    int64_t now = clock_mono_us();

    if (*last_us != 0 && now - *last_us < interval_us)
        return false;
    *last_us = now;
    return true;
}
