/* Readers of values, one for each type that is not plain text. No state; every one either sets its
 * output or an error whose text goes behind "KEY: ". */
#include "config/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct unit {
    const char *text;
    int64_t factor;
};

/* From the smallest up. */
static const struct unit count_units[] = {{"", 1}, {NULL, 0}};
static const struct unit size_units[] = {
    {"", 1}, {"K", 1024}, {"M", 1024 * 1024}, {"G", 1024 * 1024 * 1024}, {NULL, 0}};
static const struct unit duration_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                             {"h", 3600000}, {"d", 86400000}, {NULL, 0}};

static const struct unit *units_of(enum key_type type)
{
    if (type == KEY_SIZE)
        return size_units;
    return type == KEY_COUNT ? count_units : duration_units;
}

void value_show(struct str text, char shown[static VALUE_SHOWN_SIZE])
{
    struct str cut = utf8_cut(text, VALUE_SHOWN_SIZE - 8);

    snprintf(shown, VALUE_SHOWN_SIZE, "\"%.*s%s\"", STR_ARG(cut), cut.len < text.len ? "..." : "");
}

void value_format(enum key_type type, int64_t value, char text[static VALUE_TEXT_SIZE])
{
    const struct unit *unit = units_of(type), *best = unit;

    if (value == 0 && units_of(type) == duration_units)
        best = &duration_units[1];
    for (; value != 0 && unit->text; unit++)
        if (value % unit->factor == 0)
            best = unit;
    snprintf(text, VALUE_TEXT_SIZE, "%lld%s", (long long)(value / best->factor), best->text);
}

/* What would be right, for the end of a message. */
static void say_right(const struct key *key, char *text, size_t size)
{
    char min[VALUE_TEXT_SIZE], max[VALUE_TEXT_SIZE];

    value_format(key->type, key->min, min);
    value_format(key->type, key->max, max);
    if (key->type == KEY_COUNT)
        snprintf(text, size, "write a number from %s to %s", min, max);
    else if (key->type == KEY_SIZE)
        snprintf(text, size, "write a size from %s to %s, such as 512K or 1M", min, max);
    else
        snprintf(text, size, "write a duration from %s to %s, such as 500ms, 5s, 15m, 24h or 30d",
                 min, max);
}

/* Digits and a unit. False: not that. Too large for int64_t becomes INT64_MAX. */
static bool read_number(enum key_type type, struct str text, int64_t *value)
{
    const struct unit *unit = units_of(type);
    int64_t number = 0;
    size_t digits = 0;
    struct str rest;

    for (; digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9'; digits++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.ptr[digits] - '0', &number))
            number = INT64_MAX;
    if (digits == 0)
        return false;
    rest = (struct str){text.ptr + digits, text.len - digits};
    if (number == 0 && rest.len == 0) {
        *value = 0;
        return true;
    }
    for (; unit->text; unit++) {
        if (!str_is(rest, unit->text))
            continue;
        if (__builtin_mul_overflow(number, unit->factor, value))
            *value = INT64_MAX;
        return true;
    }
    return false;
}

int value_number(const struct key *key, struct str text, int64_t *value, struct err *err)
{
    char shown[VALUE_SHOWN_SIZE], right[160];
    int64_t number;

    if (!read_number(key->type, text, &number)) {
        value_show(text, shown);
        say_right(key, right, sizeof(right));
        return err_set(err, ERR_INPUT, "%s is not a %s; %s", shown, key_type_text(key->type),
                       right);
    }
    if (number < key->min || number > key->max) {
        value_show(text, shown);
        say_right(key, right, sizeof(right));
        return err_set(err, ERR_INPUT, "%s is too %s; %s", shown,
                       number < key->min ? "small" : "large", right);
    }
    *value = number;
    return 0;
}

int value_word(const struct key *key, struct str text, int *value, struct err *err)
{
    char shown[VALUE_SHOWN_SIZE], list[160] = "";
    size_t len = 0;

    for (const struct key_word *word = key->words; word->word; word++) {
        if (str_is(text, word->word)) {
            *value = word->value;
            return 0;
        }
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                word == key->words ? ""
                                : word[1].word     ? ", "
                                                   : " or ",
                                word->word);
    }
    value_show(text, shown);
    return err_set(err, ERR_INPUT, "%s is unknown; write %s", shown, list);
}

#define BACKOFF_RIGHT                                                                              \
    "write exponential BASE CAP, such as exponential 2s 1h, or a list, such as 1m, 5m, 15m"

static int read_step(const struct key *key, struct str part, int64_t *ms, struct err *err)
{
    char shown[VALUE_SHOWN_SIZE], max[VALUE_TEXT_SIZE];

    value_show(part, shown);
    if (!read_number(KEY_DURATION, part, ms))
        return err_set(err, ERR_INPUT, "%s is not a duration; " BACKOFF_RIGHT, shown);
    value_format(KEY_DURATION, key->max, max);
    if (*ms > key->max)
        return err_set(err, ERR_INPUT, "%s is too large; write a duration up to %s", shown, max);
    return 0;
}

static int read_exponential(const struct key *key, struct str text, struct backoff *backoff,
                            struct err *err)
{
    struct str base, cap = str_trim(text);
    char shown[VALUE_SHOWN_SIZE];

    base = str_take_part(&cap, ' ');
    cap = str_trim(cap);
    if (base.len == 0 || cap.len == 0)
        return err_set(err, ERR_INPUT,
                       "an exponential backoff has a base and a cap; " BACKOFF_RIGHT);
    if (read_step(key, base, &backoff->base_ms, err) < 0 ||
        read_step(key, cap, &backoff->cap_ms, err) < 0)
        return -1;
    value_show(cap, shown);
    if (backoff->base_ms == 0)
        return err_set(err, ERR_INPUT, "the base is 0, so it never grows; " BACKOFF_RIGHT);
    if (backoff->cap_ms < backoff->base_ms)
        return err_set(err, ERR_INPUT, "the cap %s is smaller than the base; " BACKOFF_RIGHT,
                       shown);
    return 0;
}

int value_backoff(const struct key *key, struct str text, struct backoff *backoff, struct err *err)
{
    struct backoff read = {0};
    struct str rest = text;

    if (str_is(text, "exponential") || str_starts(text, STR("exponential "))) {
        read.kind = BACKOFF_EXPONENTIAL;
        rest = (struct str){text.ptr + 11, text.len - 11};
        if (read_exponential(key, rest, &read, err) < 0)
            return -1;
        *backoff = read;
        return 0;
    }
    read.kind = BACKOFF_LIST;
    do {
        bool more = memchr(rest.ptr, ',', rest.len);

        if (read.step_count == BACKOFF_STEPS_MAX)
            return err_set(err, ERR_INPUT, "the list is too long; write at most %d durations",
                           BACKOFF_STEPS_MAX);
        if (read_step(key, str_take_part(&rest, ','), &read.steps_ms[read.step_count++], err) < 0)
            return -1;
        if (!more)
            break;
    } while (true);
    *backoff = read;
    return 0;
}

#define BOUND_ROWS_MAX 1000000
#define BOUND_BYTES_MIN 1024
#define BOUND_BYTES_MAX (INT64_C(64) << 30)

static bool read_bounds(struct str text, struct quarantine_bounds *bounds)
{
    struct str rest = str_trim(text), word = str_take_part(&rest, ' ');
    int64_t rows, bytes, per_minute = bounds->per_minute;

    if (!read_number(KEY_COUNT, word, &rows) || rows < 1 || rows > BOUND_ROWS_MAX)
        return false;
    rest = str_trim(rest);
    word = str_take_part(&rest, ' ');
    if (!read_number(KEY_SIZE, word, &bytes) || bytes < BOUND_BYTES_MIN || bytes > BOUND_BYTES_MAX)
        return false;
    rest = str_trim(rest);
    if (rest.len > 0 && (!read_number(KEY_COUNT, rest, &per_minute) || per_minute < 1 ||
                         per_minute > BOUND_ROWS_MAX))
        return false;
    *bounds = (struct quarantine_bounds){(int)rows, bytes, (int)per_minute};
    return true;
}

int value_bounds(struct str text, struct quarantine_bounds *bounds, struct err *err)
{
    struct quarantine_bounds read = {.per_minute = QUARANTINE_PER_MINUTE};
    char shown[VALUE_SHOWN_SIZE];

    if (!read_bounds(text, &read)) {
        value_show(text, shown);
        return err_set(err, ERR_INPUT,
                       "%s is not a bound; write rows from 1 to 1000000, bytes from 1K to 64G and, "
                       "where wanted, rows a minute from one address, such as 1000 10M or "
                       "1000 10M 120",
                       shown);
    }
    *bounds = read;
    return 0;
}

/* The next word; `text` moves behind it and the blanks. */
static struct str take_word(struct str *text)
{
    struct str word = str_take_part(text, ' ');

    *text = str_trim(*text);
    return word;
}

#define TOLERANCE_RIGHT                                                                            \
    "write a duration, such as 5m, or one for each way, such as past 5m future 1m"

static int read_way(const struct key *key, struct str part, int64_t *ms, struct err *err)
{
    char shown[VALUE_SHOWN_SIZE], max[VALUE_TEXT_SIZE];

    value_show(part, shown);
    if (!read_number(KEY_DURATION, part, ms))
        return err_set(err, ERR_INPUT, "%s is not a duration; " TOLERANCE_RIGHT, shown);
    value_format(KEY_DURATION, key->max, max);
    if (*ms > key->max)
        return err_set(err, ERR_INPUT, "%s is too large; write a duration up to %s", shown, max);
    return 0;
}

/* "past P future F" behind the first word. */
static int read_ways(const struct key *key, struct str text, struct tolerance *tolerance,
                     struct err *err)
{
    struct str rest = text, past = take_word(&rest), word = take_word(&rest),
               future = take_word(&rest);

    if (!str_is(word, "future") || future.len == 0 || rest.len > 0)
        return err_set(err, ERR_INPUT, "past %.*s does not name both ways; " TOLERANCE_RIGHT,
                       STR_ARG(text));
    if (read_way(key, past, &tolerance->past_ms, err) < 0 ||
        read_way(key, future, &tolerance->future_ms, err) < 0)
        return -1;
    if (tolerance->past_ms == 0)
        return err_set(err, ERR_INPUT,
                       "no time is as new as past 0 wants it; write tolerance = 0 where none is to "
                       "be checked");
    return 0;
}

int value_tolerance(const struct key *key, struct str text, struct tolerance *tolerance,
                    struct err *err)
{
    struct str rest = text;
    struct tolerance read = {0};

    if (str_is(take_word(&rest), "past")) {
        if (read_ways(key, rest, &read, err) < 0)
            return -1;
    } else {
        if (read_way(key, text, &read.past_ms, err) < 0)
            return -1;
        read.future_ms = read.past_ms;
    }
    *tolerance = read;
    return 0;
}

static bool ends_word(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

/* Counts the words of the text up to the next comma; *first is the first one. */
static size_t count_words(struct str *rest, struct str *first)
{
    size_t words = 0;

    *first = STR_NONE;
    while (rest->len > 0 && rest->ptr[0] != ',') {
        size_t len = 0;

        while (len < rest->len && !ends_word(rest->ptr[len]))
            len++;
        if (len > 0 && words++ == 0)
            *first = (struct str){rest->ptr, len};
        len += len == 0;
        *rest = (struct str){rest->ptr + len, rest->len - len};
    }
    if (rest->len > 0)
        *rest = (struct str){rest->ptr + 1, rest->len - 1};
    return words;
}

bool value_captures(struct str handshakes)
{
    bool captures = false;

    while (handshakes.len > 0) {
        struct str name;
        size_t words = count_words(&handshakes, &name);

        captures |= str_is(name, "token-capture") || (str_is(name, "header-echo") && words < 3);
    }
    return captures;
}
