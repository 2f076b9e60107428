/* The table of what SQLSTATEs mean for an event. IBX01 to IBX03 are ours (inboxd.defer,
 * inboxd.reject, and what `machine` raises for a stale event). A deadlock or serialization failure
 * costs no attempt; whatever else a handler raises does. */
#include "work/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DEFER "IBX01"
#define REJECT "IBX02"
#define STALE "IBX03"
#define MORE_PART_MAX 2048
#define MORE_MAX (4 * 1024 * 1024) /* of a program: exec_output keeps it below */
#define NOTE_MAX 64
#define CONFLICT_JITTER_MS 200
#define LONGEST_DELAY_S (10.0 * 365 * 86400)

bool verdict_is_server(const struct failure *failure)
{
    /* Disk full, and a server that has become read-only or is about to end. The other resources
     * that can run out (memory, temporary files) run out by what a handler does. */
    return strcmp(failure->sqlstate, "53100") == 0 ||
           strncmp(failure->sqlstate, "57P", strlen("57P")) == 0 ||
           (strcmp(failure->sqlstate, "25006") == 0 && failure->context[0] == '\0');
}

bool verdict_is_missing(const struct failure *failure)
{
    /* The same states from inside of a handler come with a context. */
    return failure->context[0] == '\0' &&
           (strcmp(failure->sqlstate, "42883") == 0 || strcmp(failure->sqlstate, "3F000") == 0 ||
            strcmp(failure->sqlstate, "42501") == 0);
}

/* ---- texts ---- */

/* Raised by functions of ours, to say something: their text is the whole story. */
static bool is_own(const struct failure *failure)
{
    return strncmp(failure->sqlstate, "IBX", strlen("IBX")) == 0;
}

static void put_cut(struct buf *buf, const char *text, size_t max)
{
    struct str all = str_from(text), cut = utf8_cut(all, max);

    /* What was cut before is a little longer by the note that says so. */
    if (all.len <= max + NOTE_MAX) {
        buf_put_str(buf, all);
        return;
    }
    buf_put_str(buf, cut);
    buf_printf(buf, " [cut, %zu bytes in all]", all.len);
}

static void put_part(struct buf *buf, const char *name, const char *text)
{
    struct str all = str_from(text), cut = utf8_cut(all, MORE_PART_MAX);

    if (all.len == 0)
        return;
    buf_printf(buf, "%s%s: ", buf->len ? "\n" : "", name);
    buf_put_str(buf, cut);
    if (cut.len < all.len)
        buf_put_str(buf, STR(" [cut]"));
}

/* One line that is the same for the same fault, since errors are counted by it. */
static char *error_text(const struct failure *failure)
{
    struct buf buf;

    buf_init(&buf, BUF_NO_CAP);
    put_cut(&buf, failure->message, VERDICT_ERROR_MAX);
    if (!is_own(failure))
        buf_printf(&buf, "%s(%s)", buf.len ? " " : "", failure->sqlstate);
    buf_put_char(&buf, '\0');
    return buf.data;
}

static char *more_text(const struct failure *failure)
{
    struct buf buf;

    buf_init(&buf, BUF_NO_CAP);
    if (!is_own(failure)) {
        put_part(&buf, "DETAIL", failure->detail);
        put_part(&buf, "CONTEXT", failure->context);
    }
    if (buf.len == 0)
        return NULL;
    buf_put_char(&buf, '\0');
    return buf.data;
}

static void explain(struct verdict *verdict, char *more)
{
    char *old = verdict->error;

    verdict->error = mem_printf("%s: %s", more, old);
    free(old);
}

/* ---- outcomes ---- */

static void retry(const struct provider_config *provider, const struct claimed *event,
                  uint64_t random, struct verdict *verdict)
{
    int failures = event->attempt - event->attempt_base;

    verdict->counts = true;
    if (failures >= provider->attempts)
        verdict->what = OUTCOME_DEAD;
    else
        verdict->delay_s = (double)backoff_delay_ms(&provider->backoff, failures, random) / 1000;
}

/* The wait as a whole is bounded; the last try is at its end. */
static void defer(const struct provider_config *provider, const struct claimed *event,
                  double wanted, struct verdict *verdict)
{
    double limit = (double)provider->defer_limit_ms / 1000;
    double left = limit - event->deferred_for_s;

    if (isnan(wanted))
        wanted = (double)provider->defer_ms / 1000;
    if (left <= 0) {
        char why[96];

        snprintf(why, sizeof(why), "deferred for longer than defer_limit (%.10g s)", limit);
        verdict->what = OUTCOME_DEAD;
        verdict->counts = true;
        explain(verdict, why);
        return;
    }
    verdict->what = OUTCOME_DEFER;
    verdict->delay_s = fmin(fmax(wanted, 0), fmin(left, LONGEST_DELAY_S));
}

/* What the detail of inboxd.defer()'s exception says; NaN: nothing. */
static double wanted_delay(const struct failure *failure)
{
    char *end;
    double wanted = strtod(failure->detail, &end);

    return end == failure->detail ? (double)NAN : wanted;
}

void verdict_of_failure(const struct provider_config *provider, const struct claimed *event,
                        const struct failure *failure, uint64_t random, struct verdict *verdict)
{
    bool timeout = failure->fault == DB_FAULT_CANCELED &&
                   failure->took_s * 1000 >= (double)provider->timeout_ms * 0.9;

    *verdict = (struct verdict){.what = OUTCOME_RETRY,
                                .error = error_text(failure),
                                .more = more_text(failure),
                                .took_s = failure->took_exactly ? failure->took_s : -1,
                                .missing = verdict_is_missing(failure)};
    snprintf(verdict->sqlstate, sizeof(verdict->sqlstate), "%s", failure->sqlstate);
    if (strcmp(failure->sqlstate, DEFER) == 0) {
        defer(provider, event, wanted_delay(failure), verdict);
    } else if (strcmp(failure->sqlstate, REJECT) == 0) {
        verdict->what = OUTCOME_DEAD;
        verdict->counts = true;
    } else if (strcmp(failure->sqlstate, STALE) == 0) {
        verdict->what = OUTCOME_STALE;
        verdict->counts = true;
    } else if (failure->fault == DB_FAULT_CONFLICT) {
        verdict->what = OUTCOME_AGAIN;
        verdict->delay_s = (double)(random % (CONFLICT_JITTER_MS + 1)) / 1000;
    } else {
        if (timeout)
            verdict->what = OUTCOME_TIMEOUT;
        verdict->suspect = timeout;
        retry(provider, event, random, verdict);
    }
}

/* Text that PostgreSQL takes, however long it was and whatever bytes it had. Takes `text`. */
static char *safe_text(char *text, size_t max)
{
    struct buf buf;
    size_t size;

    if (!text)
        return NULL;
    size = strlen(text); /* once: a plug-in may say as much as it likes */
    for (size_t i = 0; i < size;) {
        size_t length = utf8_sequence((struct str){text + i, size - i});

        if (length == 0)
            text[i] = '?';
        i += length > 0 ? length : 1;
    }
    buf_init(&buf, BUF_NO_CAP);
    put_cut(&buf, text, max);
    buf_put_char(&buf, '\0');
    free(text);
    return buf.data;
}

void verdict_of_result(const struct provider_config *provider, const struct claimed *event,
                       struct handler_result *result, double took_s, uint64_t random,
                       struct verdict *verdict)
{
    *verdict = (struct verdict){.what = OUTCOME_RETRY,
                                .error = safe_text(result->error, VERDICT_ERROR_MAX),
                                .more = safe_text(result->more, MORE_MAX),
                                .took_s = took_s};
    result->error = result->more = NULL;
    switch (result->end) {
    case HANDLER_DONE:
        verdict_release(verdict);
        verdict_done(verdict);
        return;
    case HANDLER_DEFER:
        if (!verdict->error)
            verdict->error = mem_printf("deferred");
        defer(provider, event, result->delay_s < 0 ? (double)NAN : result->delay_s, verdict);
        return;
    case HANDLER_DEAD:
        verdict->what = OUTCOME_DEAD;
        verdict->counts = true;
        break;
    case HANDLER_STALE:
        verdict->what = OUTCOME_STALE;
        verdict->counts = true;
        break;
    case HANDLER_INTERRUPTED:
        verdict->what = OUTCOME_AGAIN;
        verdict->suspect = event->counted;
        return;
    case HANDLER_TIMEOUT:
        verdict->what = OUTCOME_TIMEOUT;
        verdict->suspect = true;
        retry(provider, event, random, verdict);
        break;
    case HANDLER_RETRY:
        retry(provider, event, random, verdict);
        break;
    }
    if (!verdict->error)
        verdict->error = mem_printf("failed without a word");
}

void verdict_done(struct verdict *verdict)
{
    *verdict = (struct verdict){.what = OUTCOME_DONE, .counts = true, .took_s = -1};
}

void verdict_untouched(struct verdict *verdict)
{
    *verdict = (struct verdict){.what = OUTCOME_AGAIN, .took_s = -1};
}
