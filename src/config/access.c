/* Lists of networks, and rates. */
#include "config/access.h"

#include "base/attr.h"
#include "config/value.h"

#define NETWORKS_MAX 1024

#define RATE_MAX INT64_C(1000000)

int value_networks(const struct key *key, struct str text, struct arena *arena,
                   struct network_list *networks, struct err *err)
{
    size_t parts = text.len ? str_count_parts(text, ',') : 0;
    struct network_list read = {0};
    struct network *list;

    if (parts > NETWORKS_MAX)
        return err_set(err, ERR_INPUT, "the list is too long; write at most %d networks",
                       NETWORKS_MAX);
    list = arena_alloc(arena, (parts + 1) * sizeof(*list));
    for (size_t i = 0; i < parts; i++) {
        struct str word = str_take_part(&text, ',');

        if (str_is(word, "unix") && key->section == KEY_INBOXD)
            read.unix_peers = true;
        else if (network_read(word, &list[read.count++], err) < 0)
            return -1;
    }
    read.list = list;
    *networks = read;
    return 0;
}

static bool read_count(struct str text, int64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *count > RATE_MAX)
            return false;
        *count = *count * 10 + (text.ptr[i] - '0');
    }
    return *count > 0 && *count <= RATE_MAX;
}

int value_rate(struct str text, struct rate *rate, struct err *err)
{
    static const struct {
        const char *name;
        int64_t period_us;
    } units[] = {{"s", 1000000}, {"min", 60 * INT64_C(1000000)}, {"h", 3600 * INT64_C(1000000)}};
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    struct str count = {text.ptr, slash ? (size_t)(slash - text.ptr) : 0};
    struct str unit = slash ? (struct str){slash + 1, text.len - count.len - 1} : STR_NONE;
    char shown[VALUE_SHOWN_SIZE];

    *rate = (struct rate){0};
    if (text.len == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_is(str_trim(unit), units[i].name) && read_count(str_trim(count), &rate->count)) {
            rate->period_us = units[i].period_us;
            return 0;
        }
    }
    value_show(text, shown);
    return err_set(err, ERR_INPUT,
                   "%s is not a rate; write a number up to 1000000 and /s, /min or /h, such as "
                   "100/s or 600/min",
                   shown);
}
