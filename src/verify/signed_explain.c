/* What a person wants to know of a request that the template scheme judges: what was found where,
 * and what of it is of use. For `inboxctl verify` only; the daemon's path knows nothing of it. No
 * text holds a signature or a secret. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "verify/signed.h"

#define OFFERED_MAX 1024 /* bytes of a signature; RSA with 8192 bits */
#define SHOWN_MAX 80     /* characters of a value */

struct teller {
    const struct signed_scheme *scheme;
    struct material material;
    const struct scheme_teller *to;
};

/* "header X-Sig" */
static void name_place(const struct signed_scheme *scheme, const struct place *place,
                       char text[static 120])
{
    switch (place->kind) {
    case PLACE_HEADER:
        snprintf(text, 120, "header %.*s", STR_ARG(place->name));
        return;
    case PLACE_HEADER_FAMILY:
        snprintf(text, 120, "headers %.*s*", STR_ARG(place->name));
        return;
    case PLACE_QUERY:
        snprintf(text, 120, "parameter %.*s", STR_ARG(place->name));
        return;
    case PLACE_JSON:
        snprintf(text, 120, "member %.*s of the body", STR_ARG(scheme->pointers[place->pointer]));
        return;
    }
}

/* How often a place is there that must be single; -1: there is no such rule. */
static int times(const struct request *request, const struct place *place)
{
    struct str value;

    if (place->kind == PLACE_HEADER)
        return (int)request_header(request, place->name, &value);
    if (place->kind == PLACE_QUERY)
        return (int)request_query(request, place->name, &value);
    return -1;
}

/* ---- the signature ---- */

struct tally {
    const struct signed_scheme *scheme;
    const struct signature_rule *rule;
    size_t items, times, other, undecoded, wrong_size, good;
    size_t chars, bytes; /* of the last one that is not of another kind */
};

/* 0: any size may be right. */
static size_t wanted_size(const struct signed_scheme *scheme)
{
    if (scheme->algorithm->method != METHOD_PUBLIC)
        return digest_size(scheme->algorithm->digest);
    return scheme->algorithm->key == VERIFY_KEY_ED25519 ? 64 : 0;
}

static bool count_item(void *argument, const struct signature_rule *rule, struct str item)
{
    struct tally *tally = argument;
    unsigned char bytes[OFFERED_MAX];
    size_t wanted = wanted_size(tally->scheme), size;

    if (rule != tally->rule)
        return false;
    tally->items++;
    if (tally->scheme->time.item && str_starts(item, tally->scheme->time.prefix)) {
        tally->times++;
        return false;
    }
    if (rule->prefix.ptr && !str_starts(item, rule->prefix)) {
        tally->other++;
        return false;
    }
    size = signature_decode(rule, item, bytes, sizeof(bytes));
    tally->chars = item.len - rule->prefix.len;
    tally->bytes = size;
    if (size == 0)
        tally->undecoded++;
    else if (wanted && size != wanted)
        tally->wrong_size++;
    else
        tally->good++;
    return false;
}

static const char *encoding_name(enum encoding encoding)
{
    return encoding == ENCODING_HEX ? "hex" : encoding == ENCODING_BASE64 ? "base64" : "base64url";
}

static void tell_items(struct teller *teller, const struct tally *tally, const char *place)
{
    const struct signature_rule *rule = tally->rule;
    const char *encoding = encoding_name(rule->encoding);

    if (tally->items > 1)
        scheme_tell(teller->to, "signature",
                    "%s: there, with %zu items, %zu of which can be a signature", place,
                    tally->items, tally->good);
    else
        scheme_tell(teller->to, "signature", "%s: there", place);
    if (tally->other)
        scheme_tell(teller->to, "signature", "%zu %s with \"%.*s\", and %s passed over",
                    tally->other, tally->other == 1 ? "does not begin" : "do not begin",
                    STR_ARG(rule->prefix), tally->other == 1 ? "is" : "are");
    if (tally->undecoded)
        scheme_tell(teller->to, "signature", "%zu cannot be read as %s: %zu characters",
                    tally->undecoded, encoding, tally->chars);
    if (tally->wrong_size)
        scheme_tell(teller->to, "signature",
                    "%zu has another size than %s has: %zu bytes, and not %zu", tally->wrong_size,
                    teller->scheme->algorithm->name, tally->bytes, wanted_size(teller->scheme));
    if (tally->good)
        scheme_tell(teller->to, "signature", "%zu %s of %zu bytes, as %s has them", tally->good,
                    encoding, tally->bytes, teller->scheme->algorithm->name);
    if (tally->items == tally->times + tally->other && tally->items > 0)
        scheme_tell(teller->to, "signature", "there is no item that begins with \"%.*s\"",
                    STR_ARG(rule->prefix));
}

static void tell_signature(struct teller *teller, const struct signature_rule *rule)
{
    struct tally tally = {.scheme = teller->scheme, .rule = rule};
    enum verify_result result;
    char place[120];
    int found = times(teller->material.request, &rule->place);

    name_place(teller->scheme, &rule->place, place);
    if (found > 1 && !rule->repeat) {
        scheme_tell(teller->to, "signature", "%s: comes %d times, and may come once", place, found);
        return;
    }
    result = places_visit(teller->scheme, &teller->material, count_item, &tally);
    if (found == 0 || (tally.items == 0 && result != VERIFY_BAD))
        scheme_tell(teller->to, "signature", "%s: not there", place);
    else if (tally.items > 0)
        tell_items(teller, &tally, place);
}

/* ---- the time ---- */

/* "3 days 2:05:00" */
static void write_span(int64_t us, char text[static 60])
{
    int64_t s = us / 1000000;

    if (s < 120)
        snprintf(text, 60, "%lld s", (long long)s);
    else if (s < 86400)
        snprintf(text, 60, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60),
                 (int)(s % 60));
    else
        snprintf(text, 60, "%lld days %d:%02d:%02d", (long long)(s / 86400), (int)(s / 3600 % 24),
                 (int)(s / 60 % 60), (int)(s % 60));
}

static void tell_distance(struct teller *teller, const char *shown, int64_t us)
{
    int64_t now = teller->material.request->received_us, off;
    const char *side = us < now ? "before" : "after";
    int64_t tolerance = us < now ? teller->scheme->past_us : teller->scheme->future_us;
    char when[CLOCK_TEXT_SIZE], span[60], window[60];

    if (teller->scheme->time.unit == TIME_S)
        now -= now % 1000000; /* as it is judged */
    off = us < now ? now - us : us - now;

    clock_format(us, when);
    when[10] = ' ';
    write_span(off, span);
    write_span(tolerance, window);
    if (teller->scheme->past_us == 0)
        scheme_tell(teller->to, "time", "%s is %.19s UTC, %s %s now; the window is not checked",
                    shown, when, span, side);
    else
        scheme_tell(teller->to, "time", "%s is %.19s UTC, %s %s now; %s the tolerance of %s", shown,
                    when, span, side, off > tolerance ? "out of" : "within", window);
}

static bool is_printable(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

static void tell_time(struct teller *teller)
{
    static const char *const units[] = {
        [TIME_S] = "seconds since 1970 in digits",
        [TIME_MS] = "milliseconds since 1970 in digits",
        [TIME_ISO8601] = "a time as RFC 3339 writes it",
    };
    const struct time_rule *rule = &teller->scheme->time;
    enum verify_result result = places_time(teller->scheme, &teller->material);
    struct str text = teller->material.timestamp;
    char place[120], shown[180];
    int64_t us = 0;

    if (rule->item)
        snprintf(place, sizeof(place), "item \"%.*s\"", STR_ARG(rule->prefix));
    else
        name_place(teller->scheme, &rule->place, place);
    if (result != VERIFY_VALID) {
        scheme_tell(teller->to, "time", "%s: %s", place,
                    text.ptr ? "comes more than once, and may come once" : "not there");
        teller->material.timestamp = text.ptr ? text : STR("");
        return;
    }
    snprintf(shown, sizeof(shown), "%s: %.*s", place,
             text.len <= 40 && is_printable(text) ? (int)text.len : 0, text.ptr);
    if (time_read(rule->unit, text, &us) != TIME_READ)
        scheme_tell(teller->to, "time", "%s is not %s", shown, units[rule->unit]);
    else
        tell_distance(teller, shown, us);
}

/* ---- the text that is signed ---- */

/* Appends to `text`, whose size is 1000. */
PRINTF_LIKE(2, 3)
static void append(char text[static 1000], const char *fmt, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, 1000 - len, fmt, args);
    va_end(args);
}

static void append_value(char text[static 1000], const char *kind, struct str name, size_t found,
                         struct str value)
{
    if (found != 1)
        append(text, "<%s %.*s: %s>", kind, STR_ARG(name), found ? "more than one" : "not there");
    else if (value.len <= SHOWN_MAX && is_printable(value))
        append(text, "%.*s", STR_ARG(value));
    else
        append(text, "<%s %.*s: %zu bytes>", kind, STR_ARG(name), value.len);
}

static void append_part(struct teller *teller, const struct part *part, char text[static 1000])
{
    const struct request *request = teller->material.request;
    struct str value = STR_NONE;
    size_t found;

    switch (part->kind) {
    case PART_LITERAL:
        append(text, "%.*s", STR_ARG(part->text));
        return;
    case PART_BODY:
        append(text, "<body: %zu bytes>", request->body.len);
        return;
    case PART_TS:
        append_value(text, "time", STR(""), 1, teller->material.timestamp);
        return;
    case PART_METHOD:
        append(text, "%.*s", STR_ARG(request->method));
        return;
    case PART_URL:
    case PART_URL_DECODED:
        append(text, "%.*s", STR_ARG(scheme_url_shown(teller->scheme->public_url)));
        if (request->query.ptr)
            append(text, "?<query: %zu bytes>", request->query.len);
        return;
    case PART_HEADER:
        found = request_header(request, part->text, &value);
        append_value(text, "header", part->text, found, value);
        return;
    case PART_QUERY:
        found = request_query(request, part->text, &value);
        append_value(text, "parameter", part->text, found, value);
        return;
    case PART_JSON:
        append(text, "<member %.*s>", STR_ARG(part->text));
        return;
    case PART_SECRET:
        append(text, "<secret>");
        return;
    case PART_SHA256HEX:
        append(text, "<SHA-256 of the body>");
        return;
    case PART_CRC32:
        append(text, "<CRC-32 of the body>");
        return;
    }
}

static void tell_text(struct teller *teller)
{
    char text[1000] = "";

    for (size_t i = 0; i < teller->scheme->template.count; i++)
        append_part(teller, &teller->scheme->template.parts[i], text);
    scheme_tell(teller->to, "signed", "%s", text);
}

void signed_explain(void *state, const struct request *request, const struct scheme_teller *to)
{
    const struct signed_scheme *scheme = state;
    struct teller teller = {.scheme = scheme, .material = {.request = request}, .to = to};

    if (scheme->paths && !places_members(scheme, &teller.material))
        scheme_tell(teller.to, "body", "is no JSON, and the scheme reads members of it");
    for (size_t i = 0; i < scheme->signature_count; i++)
        tell_signature(&teller, &scheme->signatures[i]);
    if (scheme->time.used)
        tell_time(&teller);
    tell_text(&teller);
    arena_free(teller.material.arena);
}
